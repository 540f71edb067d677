import assert from "node:assert/strict";
import { test } from "node:test";
import { configure, evaluateValue, status, warmup } from "@knowledgepulse/scoring";
import { valueWithoutEmbedder } from "../support/child.mjs";
import { library, modelFolder } from "../support/model-folder.mjs";
import { trace } from "../support/traces.mjs";

const modes = 'expected "auto", "off" or "required", got';

const refused = [
	[undefined, "options", "expected an object, got undefined"],
	[null, "options", "expected an object, got null"],
	["off", "options", 'expected an object, got "off"'],
	[{ embedder: "on" }, "embedder", `${modes} "on"`],
	[{ embedder: "" }, "embedder", `${modes} ""`],
	[{ embedder: false }, "embedder", "expected a string, got false"],
	[{ embedder: null }, "embedder", "expected a string, got null"],
	[{ model: 5 }, "model", "expected a string, got 5"],
	[{ library: {} }, "library", "expected a string, got an object"],
	[{ modle: "x" }, "modle", "did you mean model?"],
	[{ embedder: "off", unknown: 1 }, "unknown", "an unknown option"],
];

for (const [options, path, rest] of refused) {
	test(`configure refuses ${path}: ${rest}`, () => {
		const before = status();
		assert.throws(
			() => configure(options),
			(error) => {
				assert.deepEqual(
					[error.name, error.code, error.path],
					["ScoringError", "INVALID_OPTION", path],
				);
				assert.ok(error.message.startsWith(`${path}: `), error.message);
				assert.ok(error.message.includes(rest), error.message);
				return true;
			},
		);
		assert.deepEqual(status(), before, "nothing is changed");
	});
}

test("configure keeps what a getter of its options has configured", (t) => {
	t.after(() => configure({ model: modelFolder }));
	const nested = {
		get embedder() {
			configure({ model: "inner" });
			return "auto";
		},
	};
	configure(nested);
	assert.equal(status().embedder.model, "inner");
});

test("configure ignores what the prototype of its options has", (t) => {
	Object.prototype.zzz = 1;
	t.after(() => delete Object.prototype.zzz);
	assert.equal(configure({}), undefined);
});

test("configure changes what is named, and nothing else", async (t) => {
	const before = status().embedder;
	t.after(() => configure({ embedder: "auto", model: modelFolder, library }));
	assert.equal(configure({}), undefined);
	assert.deepEqual(status().embedder, before);
	configure({ embedder: undefined, model: undefined, library: undefined });
	assert.deepEqual(status().embedder, before);
	configure({ model: "elsewhere" });
	assert.deepEqual(status().embedder, { ...before, model: "elsewhere" });
	configure({ library: "another" });
	assert.deepEqual(status().embedder, { ...before, model: "elsewhere", library: "another" });
	configure({ embedder: "required" });
	assert.deepEqual([status().embedder.mode, status().embedder.model], ["required", "elsewhere"]);
	await assert.rejects(evaluateValue(trace()), {
		code: "EMBEDDER_UNAVAILABLE",
		message: /elsewhere/,
	});
});

test("configure keeps the loaded model for the same settings", async () => {
	await evaluateValue(trace());
	assert.equal(status().embedder.state, "ready");
	configure({ embedder: "auto", model: modelFolder, library });
	assert.equal(status().embedder.state, "ready");
});

test("configure does not change the settings of earlier calls", async () => {
	const sources = await valueWithoutEmbedder(
		async ({ scoring, input }) => {
			const some = () => Array.from({ length: 5 }, () => scoring.explainValue(input));
			const calls = some();
			scoring.configure({ embedder: "off" });
			calls.push(...some());
			scoring.configure({ embedder: "auto" });
			calls.push(...some());
			return (await Promise.all(calls)).map(({ novelty }) => novelty.source);
		},
		{ input: trace(), env: { KNOWLEDGEPULSE_SCORING_EMBEDDER: "auto" } },
	);
	const five = (source) => Array(5).fill(source);
	assert.deepEqual(sources, [
		"empty-cache",
		...five("cache").slice(1),
		...five("no-embedder"),
		...five("cache"),
	]);
});

test("configure accepts a second library, which a process cannot have, and goes back to the first one", async (t) => {
	await evaluateValue(trace());
	t.after(() => configure({ library, embedder: "auto" }));
	configure({ library: process.execPath, embedder: "required" });
	const { embedder } = await warmup();
	assert.equal(embedder.backend, "native");
	assert.match(embedder.reason, /is loaded already, and a process can have only one/);
	configure({ library });
	assert.equal((await warmup()).embedder.backend, "onnx");
});
