import assert from "node:assert/strict";
import { join, relative, resolve } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { runs } from "../data/runs.mjs";
import { valueFrom } from "../support/child.mjs";
import { library, modelCopy, modelFolder, temporaryFolder } from "../support/model-folder.mjs";
import { assertSame, scoresOf } from "../support/scores.mjs";
import { trace } from "../support/traces.mjs";

const testFolder = fileURLToPath(new URL("..", import.meta.url));

const source = async ({ scoring, input }) => {
	const { novelty } = await scoring.explainValue(input);
	return { source: novelty.source, ...scoring.status().embedder };
};

test("KNOWLEDGEPULSE_SCORING_MODEL and _LIBRARY accept relative and odd paths", async (t) => {
	const folder = modelCopy(temporaryFolder(t));
	for (const name of [folder, relative(testFolder, modelFolder)]) {
		const env = {
			KNOWLEDGEPULSE_SCORING_EMBEDDER: "required",
			KNOWLEDGEPULSE_SCORING_MODEL: name,
			KNOWLEDGEPULSE_SCORING_LIBRARY: relative(testFolder, library),
			KNOWLEDGEPULSE_SCORING_BACKEND: "onnx",
		};
		const found = await valueFrom(source, { input: trace(), env });
		assert.deepEqual(
			[found.source, resolve(found.model), resolve(found.library), found.mode],
			["empty-cache", resolve(testFolder, name), library, "required"],
		);
	}
});

test("KNOWLEDGEPULSE_SCORING_MAX_TOKENS and _NORMALIZE are a number and a flag", async () => {
	const env = {
		KNOWLEDGEPULSE_SCORING_MODEL: join(testFolder, ".models", "bert"),
		KNOWLEDGEPULSE_SCORING_MAX_TOKENS: "7",
		KNOWLEDGEPULSE_SCORING_NORMALIZE: "false",
	};
	const body = async ({ scoring, input }) => {
		const { text } = await scoring.explainValue(input);
		return [text.tokens, Math.hypot(...(await scoring.embed(input)))];
	};
	const [tokens, length] = await valueFrom(body, { input: trace(), env });
	assert.equal(tokens, 7);
	assert.ok(Math.abs(length - 1) > 0.01, String(length));
});

test("KNOWLEDGEPULSE_SCORING_* variables that are empty are ignored", async () => {
	const env = {
		KNOWLEDGEPULSE_SCORING_EMBEDDER: "",
		KNOWLEDGEPULSE_SCORING_MODEL: "",
		KNOWLEDGEPULSE_SCORING_LIBRARY: "",
		KNOWLEDGEPULSE_SCORING_BACKEND: "",
		KNOWLEDGEPULSE_SCORING_PRECISION: "",
	};
	const found = await valueFrom(source, { input: trace(), env });
	assert.deepEqual(
		[found.source, found.mode, found.model, found.library, found.backend, found.precision],
		["empty-cache", "auto", modelFolder, null, "native", "exact"],
	);
});

test("configure overrides KNOWLEDGEPULSE_SCORING_EMBEDDER, _MODEL and _PRECISION", async (t) => {
	const env = {
		KNOWLEDGEPULSE_SCORING_EMBEDDER: "off",
		KNOWLEDGEPULSE_SCORING_MODEL: join(temporaryFolder(t), "nowhere"),
		KNOWLEDGEPULSE_SCORING_PRECISION: "fast",
	};
	const body = ({ scoring, input: { model, traces } }) => {
		scoring.configure({ embedder: "auto", model, precision: "exact" });
		return scoring.evaluateValues(traces);
	};
	const traces = [runs[0], runs[1]];
	const input = { model: modelFolder, traces };
	assertSame(await valueFrom(body, { input, env }), await scoresOf(traces, 1));
});

const told = ({ scoring }) => {
	const { backend, precision, library } = scoring.status().embedder;
	return [backend, precision, library === null];
};

for (const [backend, precision, found] of [
	["", "exact", ["native", "exact", true]],
	["native", "exact", ["native", "exact", true]],
	["native", "fast", ["native", "fast", true]],
	["onnx", "exact", ["onnx", "exact", false]],
	["onnx", "fast", ["native", "fast", true]],
])
	test(`KNOWLEDGEPULSE_SCORING_BACKEND=${backend} and _PRECISION=${precision} select ${found[0]}, ${found[1]}`, async () => {
		const env = {
			KNOWLEDGEPULSE_SCORING_BACKEND: backend,
			KNOWLEDGEPULSE_SCORING_PRECISION: precision,
		};
		assert.deepEqual(await valueFrom(told, { env }), found);
	});

/** The outcomes of every function, at first and after each of `input.changes`. */
const answers = async ({ scoring, input }) => {
	const told = [];
	const calls = {
		evaluateValue: () => scoring.evaluateValue(input.trace),
		explainValue: () => scoring.explainValue(input.trace),
		warmup: () => scoring.warmup(),
		status: async () => scoring.status(),
	};
	for (const change of [{}, ...input.changes]) {
		scoring.configure(change);
		const found = new Set();
		for (const [name, call] of Object.entries(calls)) {
			const error = await call().catch((error) => error);
			const { code, path, message } = error;
			found.add(code ? `${error.name} ${code} ${path} ${message}` : `${name} is fine`);
		}
		told.push([...found]);
	}
	return { told, cacheSize: scoring.status().cacheSize };
};

const fine = ["evaluateValue", "explainValue", "warmup", "status"].map((name) => `${name} is fine`);

const error = (name, expected, value) =>
	`ScoringError INVALID_OPTION ${name} ${name}: expected ${expected}, got ${JSON.stringify(value)}`;

const PREFIX = "KNOWLEDGEPULSE_SCORING_";
const MODES = '"auto", "off" or "required"';
const PRECISIONS = '"exact" or "fast"';

/** Wrong values of variables: the expected value, a change that does not help, and one that does. */
const wrong = [
	["EMBEDDER", MODES, ["on"], { precision: "exact" }, { embedder: "required" }],
	[
		"BACKEND",
		'"onnx" or "native"',
		["onnxruntime", "NATIVE"],
		{ precision: "exact" },
		{ backend: "native" },
	],
	["PRECISION", PRECISIONS, ["slow", " exact"], { embedder: "auto" }, { precision: "fast" }],
	["NOVELTY", '"text", "run" or "words"', ["RUN"], { embedder: "auto" }, { novelty: "words" }],
];

for (const [variable, expected, values, other, change] of wrong)
	for (const value of values)
		test(`${PREFIX}${variable}=${value} is an error of every call until another is configured`, async () => {
			const name = PREFIX + variable;
			const input = { trace: trace(), changes: [other, change] };
			const { told, cacheSize } = await valueFrom(answers, { input, env: { [name]: value } });
			const refused = [error(name, expected, value)];
			assert.deepEqual(told, [refused, refused, fine]);
			assert.equal(cacheSize, 2, "a rejected trace leaves no mark");
		});

test("KNOWLEDGEPULSE_SCORING_* variables of a worker are its own, and configure changes those of all threads", async () => {
	const modes = await valueFrom(
		async ({ scoring }) => {
			const { once } = await import("node:events");
			const { Worker } = await import("node:worker_threads");
			const body = `
				const { parentPort } = require("node:worker_threads");
				const { Scorer, status } = require("@knowledgepulse/scoring");
				const modes = () => [status(), new Scorer().status()].map(({ embedder }) => embedder.mode);
				parentPort.postMessage(modes());
				parentPort.once("message", () => parentPort.postMessage(modes()));`;
			const env = { ...process.env, KNOWLEDGEPULSE_SCORING_EMBEDDER: "off" };
			const modes = () => scoring.status().embedder.mode;
			const worker = new Worker(body, { env, eval: true, execArgv: [] });
			const [own] = await once(worker, "message");
			const found = [own, modes()];
			scoring.configure({ embedder: "required" });
			worker.postMessage("again");
			const [changed] = await once(worker, "message");
			await worker.terminate();
			return [...found, changed, modes()];
		},
		{ env: { KNOWLEDGEPULSE_SCORING_EMBEDDER: "auto" } },
	);
	assert.deepEqual(modes, [["off", "off"], "auto", ["required", "required"], "required"]);
});
