import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { runs } from "../fixtures/runs.mjs";
import {
	assertEndedWell,
	assertQuiet,
	run,
	valueFrom,
	valueWithoutEmbedder,
} from "../support/child.mjs";
import { modelFolder, temporaryFolder } from "../support/model-folder.mjs";
import { assertSame, scoresOf } from "../support/scores.mjs";
import { says, trace, words } from "../support/traces.mjs";

const MODEL = "sentence-transformers/all-MiniLM-L6-v2";

for (const [precision, backend, library] of [
	["exact", "onnx", /^1\.\d+\.\d+$/],
	["fast", "native", /^null$/],
]) {
	test(`warmup resolves to the status when the model is ready, ${precision}`, async () => {
		const found = await valueFrom(
			async ({ scoring, input }) => {
				const before = scoring.status().embedder.state;
				const call = scoring.warmup();
				const pending = scoring.status().pending;
				const isPromise = call instanceof Promise;
				const status = await call;
				const after = scoring.status();
				const { novelty } = await scoring.explainValue(input);
				return { before, pending, isPromise, status, after, novelty };
			},
			{
				input: trace({ objective: "", steps: [] }),
				env: { KNOWLEDGEPULSE_SCORING_PRECISION: precision },
			},
		);
		const { before, pending, isPromise, status, after, novelty } = found;
		assert.deepEqual([before, pending, isPromise], ["idle", 1, true]);
		const { embedder } = status;
		assert.deepEqual(
			[embedder.state, embedder.reason, embedder.modelName, embedder.precision],
			["ready", null, MODEL, precision],
		);
		assert.equal(embedder.backend, backend);
		assert.match(String(embedder.libraryVersion), library);
		assert.deepEqual([status.pending, status.cacheSize], [0, 0]);
		assert.deepEqual(after, status);
		assert.equal(novelty.source, "empty-cache", "even for the empty text");
	});
}

test("warmup can be called again and again", async () => {
	const found = await valueFrom(
		async ({ scoring, input }) => {
			const many = () => Array.from({ length: 20 }, () => scoring.warmup());
			const statuses = await Promise.all(many());
			await scoring.evaluateValue(input);
			statuses.push(...(await Promise.all(many())));
			return statuses.map(({ embedder, cacheSize }) => [embedder.state, cacheSize]);
		},
		{ input: trace() },
	);
	assert.deepEqual(found.slice(0, 20), Array(20).fill(["ready", 0]));
	assert.deepEqual(found.slice(20), Array(20).fill(["ready", 1]));
});

test("warmup takes its turn among the scores, and leaves them as they are", async () => {
	const { settled, scores } = await valueFrom(
		async ({ scoring, input }) => {
			const settled = [];
			const scores = [];
			const warmUp = async (name) => {
				const { cacheSize } = await scoring.warmup();
				settled.push([name, cacheSize]);
			};
			const calls = [warmUp("before")];
			for (const [index, value] of input.entries()) {
				const score = async () => {
					const { score } = await scoring.explainValue(value);
					scores[index] = score;
					settled.push(index);
				};
				calls.push(score());
				if (index % 3 === 0) calls.push(warmUp("between"));
			}
			await Promise.all(calls);
			return { settled, scores };
		},
		{ input: runs },
	);
	const alone = await scoresOf(runs, 1);
	assertSame(scores, alone);
	const names = settled.map((item) => (Array.isArray(item) ? item[0] : item));
	const expected = runs.flatMap((_, index) => (index % 3 === 0 ? [index, "between"] : [index]));
	assert.deepEqual(names, ["before", ...expected]);
	for (const [position, item] of settled.entries()) {
		if (!Array.isArray(item)) continue;
		const earlier = names.slice(0, position).filter(Number.isInteger);
		// Later traces may be in the cache before the promise resolves.
		assert.ok(item[1] >= earlier.length, `${item} at ${position}`);
	}
});

test("warmup in workers reports the status of the worker", async () => {
	const found = await valueFrom(
		async ({ scoring, input }) => {
			const { Worker } = await import("node:worker_threads");
			const code = `
const { parentPort, workerData } = require("node:worker_threads");
const { evaluateValue, warmup } = require("@knowledgepulse/scoring");
(async () => {
const first = await warmup();
await evaluateValue(workerData);
parentPort.postMessage([first, await warmup()]);
})();`;
			const options = { eval: true, workerData: input, execArgv: [] };
			const workers = Array.from({ length: 3 }, () => {
				const worker = new Worker(code, options);
				return new Promise((resolve, reject) => {
					worker.once("message", resolve).once("error", reject);
				});
			});
			const told = (await Promise.all(workers)).map((statuses) =>
				statuses.map(({ embedder, cacheSize }) => [embedder.state, cacheSize]),
			);
			const { embedder, cacheSize } = scoring.status();
			return { told, here: [embedder.state, cacheSize] };
		},
		{ input: trace() },
	);
	const each = [
		["ready", 0],
		["ready", 1],
	];
	assert.deepEqual(found, { told: [each, each, each], here: ["ready", 0] });
});

for (const ending of ["process.exit()", "the end of a worker"]) {
	test(`warmup is ended by ${ending}`, async () => {
		const ended = await run(
			async ({ scoring, input }) => {
				scoring.warmup();
				if (input === "process.exit()") process.exit(0);
				const { Worker } = await import("node:worker_threads");
				const worker = new Worker('require("@knowledgepulse/scoring").warmup()', {
					eval: true,
					execArgv: [],
				});
				await new Promise((resolve) => worker.once("online", resolve));
				await worker.terminate();
			},
			{ input: ending },
		);
		assertQuiet(ended);
	});
}

/** Warms up twice and scores once: the statuses, and the codes of all warnings. */
const body = async ({ scoring, input }) => {
	const warnings = [];
	process.on("warning", ({ code, name, message }) => warnings.push([code, name, message]));
	const statuses = [await scoring.warmup(), await scoring.warmup()];
	await new Promise(setImmediate);
	const afterWarmup = warnings.length;
	const { novelty } = await scoring.explainValue(input);
	statuses.push(scoring.status());
	await new Promise(setImmediate);
	return { statuses, warnings, afterWarmup, novelty };
};

const rows = [
	["is switched off", { KNOWLEDGEPULSE_SCORING_EMBEDDER: "off" }],
	["has no model", { KNOWLEDGEPULSE_SCORING_MODEL: "nowhere" }],
];

for (const [name, changes] of rows) {
	test(`warmup reports that the embedder ${name}, with one warning`, async () => {
		const env = { KNOWLEDGEPULSE_SCORING_EMBEDDER: "auto", ...changes };
		const options = { input: trace(), env };
		const found = await valueWithoutEmbedder(body, options);
		const reason = /switched off|nowhere/;
		for (const { embedder, cacheSize, pending } of found.statuses) {
			assert.deepEqual([embedder.state, embedder.modelName], ["unavailable", null]);
			assert.match(embedder.reason, reason);
			assert.deepEqual([cacheSize, pending], [0, 0]);
		}
		assert.equal(found.novelty.source, "no-embedder");
		assert.match(found.novelty.reason, reason);
		assert.equal(found.afterWarmup, 1, "warmup has warned");
		assert.equal(found.warnings.length, 1, "and nothing else has");
		const [code, kind, message] = found.warnings[0];
		assert.deepEqual([code, kind], ["KNOWLEDGEPULSE_NO_EMBEDDER", "KnowledgePulseWarning"]);
		assert.match(message, reason);
	});
}

test("warmup rejects while the required embedder is missing", async (t) => {
	const nowhere = join(temporaryFolder(t), "nowhere");
	const found = await valueFrom(
		async ({ scoring, input }) => {
			const calls = [scoring.warmup(), scoring.warmup()];
			const settled = await Promise.allSettled(calls);
			const errors = settled.map(({ reason }) => [
				reason instanceof Error,
				reason?.code,
				reason?.message,
			]);
			const { state } = scoring.status().embedder;
			scoring.configure({ model: input });
			return [errors, state, (await scoring.warmup()).embedder.state];
		},
		{
			input: modelFolder,
			env: { KNOWLEDGEPULSE_SCORING_EMBEDDER: "required", KNOWLEDGEPULSE_SCORING_MODEL: nowhere },
		},
	);
	const [errors, before, after] = found;
	for (const [isError, code, message] of errors) {
		assert.deepEqual([isError, code], [true, "EMBEDDER_UNAVAILABLE"]);
		assert.ok(message.includes(nowhere), message);
	}
	assert.deepEqual([before, after], ["unavailable", "ready"]);
});

test("warmup uses the settings at the time of the call", async () => {
	const ended = await run(
		async ({ scoring, input }) => {
			const warnings = [];
			process.emitWarning = (...warning) => warnings.push(warning.at(-1));
			const call = scoring.warmup();
			scoring.configure({ embedder: "off" });
			const { embedder } = await call;
			const before = warnings.length;
			await Promise.all(input.map(scoring.explainValue));
			return [embedder.mode, before, warnings];
		},
		{ input: [1, 2, 3].map((seed) => says(words(5, seed))) },
	);
	assertEndedWell(ended);
	const warnings = ["KNOWLEDGEPULSE_NO_EMBEDDER"];
	assert.deepEqual(ended.value, ["off", 0, warnings]);
});
