/** Injects faults at every place of the native code, in an addon built for it. */

import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { cargo } from "../../tools/lib/build.mjs";
import { assertEndedWell, run, valueFrom } from "../support/child.mjs";
import { copyPackage } from "../support/copies.mjs";
import { repeats } from "../support/draws.mjs";
import { temporaryFolder } from "../support/model-folder.mjs";

/** The places of panics, and the code with which a promise may then reject. */
const PLACES = {
	submit: "INTERNAL",
	embed: "INTERNAL",
	score: "INTERNAL",
	answer: "INTERNAL",
	background: "INTERNAL",
	load: "EMBEDDER_UNAVAILABLE",
	tokenizer: "EMBEDDER_UNAVAILABLE",
	session: "EMBEDDER_UNAVAILABLE",
	task: "EMBEDDER_UNAVAILABLE",
};

/** Places that one backend alone reaches. */
const ONLY = { session: "onnx", task: "native" };

const addon = ["build", "--features", "fault-injection"];
const entry = copyPackage({ after }, await cargo("addon that panics", addon));

describe("a panic in the native code", { concurrency: 2 }, () => {
	const places = Object.entries(PLACES).flatMap(([place, code]) =>
		["onnx", "native"]
			.filter((backend) => (ONLY[place] ?? backend) === backend)
			.map((backend) => ({ place, code, backend })),
	);
	for (const { place, code, backend } of places)
		test(`a panic at "${place}", ${backend}, rejects one promise at most`, async (t) => {
			for (let inARow = 1; inARow <= repeats(1); inARow += 2) {
				const env = {
					KNOWLEDGEPULSE_SCORING_PANIC: `${place}:${inARow}`,
					KNOWLEDGEPULSE_SCORING_BACKEND: backend,
					// Panics are counted on standard error; backtraces would interleave with them.
					RUST_BACKTRACE: "0",
				};
				const input = { entry, inARow, folder: temporaryFolder(t) };
				const ended = await run(
					async (context) => (await import("./lifecycle/panicking.mjs")).panicking(context),
					{ input, env, preload: false },
				);
				assertEndedWell(ended);
				const count = ended.stderr.match(/injected at /g)?.length ?? 0;
				assert.ok(count >= 1 && count <= inARow, ended.stderr);
				for (const rejected of ended.value) assert.equal(rejected, code);
				if (code === "INTERNAL") assert.equal(ended.value.length, count);
			}
		});
});

describe("a call when the first thread cannot be created", { concurrency: 2 }, () => {
	/** Ways to make the first call, as bodies of functions of the package and a trace. */
	const calls = {
		evaluateValue: ({ evaluateValue }, trace) => evaluateValue(trace),
		explainValue: ({ explainValue }, trace) => explainValue(trace),
		peek: ({ evaluateValue }, trace) => evaluateValue(trace, { remember: false }),
		remember: ({ remember }, trace) => remember(trace),
		embed: ({ embed }) => embed("a river"),
		warmup: ({ warmup }) => warmup(),
		evaluateValues: ({ evaluateValues }, trace) => evaluateValues([trace]),
		"forget, with a store": ({ Scorer }, _, store) => new Scorer({ store }).forget("x"),
		"evaluateValue, with a store": ({ Scorer }, trace, store) =>
			new Scorer({ store }).evaluateValue(trace),
		snapshot: ({ Scorer }) => new Scorer().snapshot(),
		restore: ({ Scorer }) => Scorer.restore(new Uint8Array(100)),
		importTraces: ({ importTraces }, _, __, source) =>
			importTraces(source, { assumeSuccess: true }).next(),
		fromMessages: ({ fromMessages }, _, __, { data }) =>
			fromMessages(data, { assumeSuccess: true }),
		evaluateLogs: ({ evaluateLogs }, _, __, source) =>
			evaluateLogs(source, { assumeSuccess: true }).next(),
		calibrate: ({ calibrate }) => calibrate([]),
		calibrationReport: ({ calibrationReport }) => calibrationReport({}, []),
	};

	for (const [name, call] of Object.entries(calls))
		test(`${name} rejects with NO_THREADS, and works again`, async () => {
			const body = `async ({ input }) => {
				const entries = await Promise.all(input.entries.map((entry) => import(entry)));
				const scoring = Object.assign({}, ...entries);
				const { MemoryStore } = await import(input.memoryStore);
				const { says } = await import("./support/traces.mjs");
				const store = new MemoryStore({ namespaces: new Map(), namespace: "test" });
				const data = [
					{ role: "user", content: "Which ships call at Bergen?" },
					{ role: "assistant", content: "The coastal express." },
				];
				const call = () => (${call})(scoring, says("one river stone"), store, { name: "run", data });
				const ended = () => call().then(() => "no error", ({ name, code }) => name + " " + code);
				return [await ended(), await ended()];
			}`;
			const memoryStore = "../packages/stores/__test__/conformance/memory-store.mjs";
			const env = { KNOWLEDGEPULSE_SCORING_PANIC: "thread:1" };
			const entries = ["index", "logs", "calibrate"].map(
				(name) => new URL(`${name}.mjs`, entry).href,
			);
			const input = { entries, memoryStore };
			const [first, second] = await valueFrom(body, { input, env, preload: false });
			assert.equal(first, "ScoringError NO_THREADS");
			assert.notEqual(second, first);
		});
});
