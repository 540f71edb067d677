import assert from "node:assert/strict";
import { test } from "node:test";
import util from "node:util";
import vm from "node:vm";
import {
	evaluateValue,
	InvalidTraceError,
	Scorer,
	ScoringError,
	VectorCache,
} from "@knowledgepulse/scoring";
import { ImportError } from "@knowledgepulse/scoring/logs";
import { valueFrom } from "../support/child.mjs";
import { loadInContext } from "../support/contexts.mjs";
import { isLongRun } from "../support/draws.mjs";
import { trace } from "../support/traces.mjs";

/** Calls that fail with each code. */
const errors = {
	INVALID_TRACE: () => evaluateValue({}),
	INVALID_OPTION: () => new Scorer({ threads: 0 }),
	INVALID_VECTOR: () => new VectorCache().add([1]),
	INVALID_SNAPSHOT: () => Scorer.restore(Buffer.from("no snapshot")),
	SNAPSHOT_IO: () => new Scorer().save("/nowhere/at/all/snapshot"),
	EMBEDDER_UNAVAILABLE: () => new Scorer({ embedder: "required", model: "nowhere" }).warmup(),
	LIBRARY_UNAVAILABLE: () =>
		new Scorer({ embedder: "required", backend: "onnx", library: "nowhere" }).warmup(),
	CLOSED: () => {
		const scorer = new Scorer();
		scorer.close();
		return scorer.evaluateValue(trace());
	},
};

for (const [code, call] of Object.entries(errors)) {
	test(`ScoringError is the class of errors with the code ${code}`, async () => {
		const error = await new Promise((resolve) => resolve(call())).then(
			() => assert.fail("nothing was thrown"),
			(error) => error,
		);
		const name = code === "INVALID_TRACE" ? "InvalidTraceError" : "ScoringError";
		assert.ok(error instanceof ScoringError);
		assert.ok(error instanceof Error);
		assert.equal(error instanceof InvalidTraceError, code === "INVALID_TRACE");
		assert.deepEqual([error.code, error.name], [code, name]);
		assert.equal(error.constructor.name, name);
		assert.ok(error.message.length > 0);
		assert.ok(error.stack.startsWith(`${name}: ${error.message}`), error.stack);
		assert.match(util.inspect(error), new RegExp(`code: '${code}'`));
	});
}

test("ScoringError has the stack of the call", () => {
	function caller() {
		new Scorer({ threads: 0 });
	}
	assert.throws(caller, ({ stack }) => stack.includes("caller"));
});

test("ScoringError has a code although it is made without one", () => {
	assert.equal(new ScoringError("mine").code, "INTERNAL");
	assert.equal(new ImportError("mine", { source: "s" }).code, "INTERNAL");
});

test("ScoringError ignores setters on prototypes", async () => {
	const codes = await valueFrom(
		async ({ scoring, input }) => {
			const { Scorer } = scoring;
			const closed = new Scorer();
			const open = new Scorer();
			const set = () => {
				throw new Error("thrown by a setter");
			};
			const hostile = [Object.prototype, Error.prototype];
			for (const prototype of hostile)
				for (const name of ["code", "path", "score", "embedder"])
					Object.defineProperty(prototype, name, { set, configurable: true });
			const calls = [
				closed.evaluateValue(input),
				open.evaluateValue({}),
				open.explainValue(input),
				open.warmup(),
			];
			closed.close();
			calls.push(closed.evaluateValue(input));
			const settled = await Promise.allSettled(calls);
			return settled.map(({ status, reason }) => reason?.code ?? status);
		},
		{ input: trace() },
	);
	assert.deepEqual(codes, ["CLOSED", "INVALID_TRACE", "fulfilled", "fulfilled", "CLOSED"]);
});

/** Loads the package, and uses it, where all objects inherit members that have the names of options and fields. */
async function useWithMembers({ input: { names, input } }) {
	const { createRequire } = await import("node:module");
	const require = createRequire(import.meta.url);
	// Node.js itself reads some of these names.
	for (const name of ["node:net", "node:stream/promises", "node:tty"]) require(name);
	for (const name of names)
		Object.defineProperty(Object.prototype, name, { value: 5, writable: true, configurable: true });
	const { Scorer, status } = require("@knowledgepulse/scoring");
	const { importTraces } = require("@knowledgepulse/scoring/logs");
	const scorer = new Scorer({});
	const line = JSON.stringify(input);
	const results = [
		await scorer.evaluateValue(input),
		(await scorer.explainValue(input, {})).score,
		...(await scorer.evaluateValues([input])),
		(await scorer.decide(input)).accepted,
		(await importTraces(line, {}).next()).value.trace.id,
		(await importTraces([{ name: "n", data: line }]).next()).value.trace.id,
		(await scorer.evaluateLogs(line).next()).value.score,
		(await Scorer.restore(await scorer.snapshot())).status().cacheSize,
		status().budgetMs,
	];
	for (const name of names) delete Object.prototype[name];
	return results;
}

test("options and messages are read as own members", async () => {
	const names =
		`assumeSuccess atLeast backend budgetMs cache code confidence createdAt data dimensions domain embedder errors
		exact expected fits format given group head isRequired k kind known library map maxElements maxTokens
		model name normalize objective onProgress output peek pooling precision prefix privacyLevel profiles
		provenance read remember source store storeMode storeTimeoutMs success text threads threshold ttlMs visibility`
			.split(/\s+/)
			// The fields of a trace may be inherited.
			.filter((name) => !["confidence", "success", "objective"].includes(name));
	const input = { names, input: { ...trace({}), id: "kp:trace:1" } };
	const options = { preload: false, input };
	const expected = await valueFrom(useWithMembers, { ...options, input: { ...input, names: [] } });
	assert.deepEqual(await valueFrom(useWithMembers, options), expected);
});

test("ScoringError belongs to the realm that loaded the package", async () => {
	const { context, scoring } = loadInContext();
	const InnerError = vm.runInContext("Error", context);
	assert.notEqual(InnerError, Error);
	const rejected = await scoring.evaluateValue({}).catch((error) => error);
	assert.ok(rejected instanceof InnerError);
	assert.ok(rejected instanceof scoring.InvalidTraceError);
	assert.ok(!(rejected instanceof InvalidTraceError));
	assert.equal(rejected.name, "InvalidTraceError");
	for (const call of [
		() => new scoring.VectorCache({ maxElement: 1 }),
		() => new scoring.VectorCache().add([1]),
		() => new scoring.Scorer({ threads: 0 }),
		() => scoring.configure(null),
	])
		assert.throws(call, (error) => {
			assert.ok(error instanceof InnerError, String(error));
			return error instanceof scoring.ScoringError;
		});
});

test("evaluateValue scores the same in other realms, at the same time", async () => {
	const json = JSON.stringify(trace());
	const realms = Array.from({ length: isLongRun ? 50 : 3 }, loadInContext);
	const scores = await Promise.all(
		realms.map(({ context, scoring }) =>
			new scoring.Scorer().evaluateValue(vm.runInContext(`(${json})`, context)),
		),
	);
	const expected = await new Scorer().evaluateValue(trace());
	for (const score of scores) assert.equal(score, expected);
});
