/** Faults at every place of the native code that does work, in an addon that is built for it. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { assertEndedWell } from "../../../__test__/support/child.mjs";
import { cargo } from "../../lib/build.mjs";
import { inTurn } from "../../lib/process.mjs";
import { BACKENDS, callIn, valueIn } from "../lib/child.mjs";
import { copyPackage } from "../lib/copies.mjs";
import { finding } from "../lib/finding.mjs";
import { CALLS } from "./threadless.mjs";

const INTERNAL = "INTERNAL";
const UNAVAILABLE = "EMBEDDER_UNAVAILABLE";

/** Where it panics, and the code with which a promise may reject then. */
const PLACES = {
	read: INTERNAL,
	submit: INTERNAL,
	embed: INTERNAL,
	score: INTERNAL,
	answer: INTERNAL,
	background: INTERNAL,
	load: UNAVAILABLE,
	tokenizer: UNAVAILABLE,
	session: UNAVAILABLE,
	operator: UNAVAILABLE,
	task: UNAVAILABLE,
};
/** Places that only calls of ONNX Runtime come to. */
const ONNX = ["session", "operator"];

const buildAddon = () => cargo("addon that panics", ["build", "--features", "fault-injection"]);

async function panicAt({ place, backend, inARow, entry }) {
	const folder = mkdtempSync(join(tmpdir(), "kp-panic-"));
	const env = {
		KNOWLEDGEPULSE_SCORING_PANIC: `${place}:${inARow}`,
		KNOWLEDGEPULSE_SCORING_BACKEND: backend,
		// The panics are counted on standard error, where backtraces could get lost between them.
		RUST_BACKTRACE: "0",
	};
	try {
		const input = { entry, inARow, folder };
		const options = { input, env, preload: false };
		const ended = await callIn("lifecycle/panicking.mjs", "panicking", options);
		assertEndedWell(ended);
		const count = ended.stderr.match(/injected at /g)?.length ?? 0;
		assert.ok(count >= 1 && count <= inARow, ended.stderr);
		for (const code of ended.value) assert.equal(code, PLACES[place]);
		if (PLACES[place] === INTERNAL) assert.equal(ended.value.length, count);
		return count;
	} catch (error) {
		throw finding(error, `panics: ${JSON.stringify(env)}`);
	} finally {
		rmSync(folder, { recursive: true });
	}
}

/** Makes a call in a process that gets no thread: it rejects, and the process ends. */
async function callWithoutThreads(call, entry) {
	const env = { KNOWLEDGEPULSE_SCORING_PANIC: "thread:1000" };
	try {
		const options = { input: { entry, call }, env, preload: false };
		const value = await valueIn("lifecycle/threadless.mjs", "callOnce", options);
		assert.equal(value, "ScoringError NO_THREADS");
	} catch (error) {
		throw finding(error, `no threads: ${call}`);
	}
}

/** Panics in `times` processes, each at one place; and every call where there are no threads. */
export async function panics({ times, log }) {
	const { folder, entry } = copyPackage(await buildAddon());
	const places = Object.keys(PLACES);
	const runs = BACKENDS.flatMap((backend) =>
		places
			.filter((place) => backend === "onnx" || !ONNX.includes(place))
			.map((place) => ({ place, backend, entry })),
	);
	let count = 0;
	try {
		await inTurn([...Array(times).keys()], 2, async (at) => {
			// Later rounds panic more often in a row.
			const inARow = 1 + 2 * Math.floor(at / runs.length);
			count += await panicAt({ ...runs[at % runs.length], inARow });
		});
		await inTurn(Object.keys(CALLS), 2, (call) => callWithoutThreads(call, entry));
	} finally {
		rmSync(folder, { recursive: true });
	}
	const tried = `${count} panics at ${places.length} places`;
	const found = "each ended at most one promise, and the engine went on";
	log(`panics: ${tried}, ${found}`);
	return [
		{ what: "panics in the native code", tried, found },
		{
			what: "no threads for the first call",
			tried: `${Object.keys(CALLS).length} calls`,
			found: "each rejected with NO_THREADS, and the process ended",
		},
	];
}
