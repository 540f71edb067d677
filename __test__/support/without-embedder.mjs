/** Checks of processes without an embedder. */

import assert from "node:assert/strict";
import { assertEndedWell, run } from "./child.mjs";
import { trace } from "./traces.mjs";

const KILL_AFTER_MS = 30_000;

/** Scores in a fresh process, and checks that it does so without the embedder, with one warning. */
export async function assertWorksWithout(env, reason) {
	const body = async ({ scoring, input }) => {
		const warnings = [];
		process.on("warning", ({ code, name, message }) => warnings.push({ code, name, message }));
		const calls = [
			scoring.explainValue(input),
			scoring.evaluateValue(input),
			scoring.explainValue(input),
		];
		const [first, score, last] = await Promise.all(calls);
		await new Promise(setImmediate);
		return { first, score, last, warnings, status: scoring.status() };
	};
	const ended = await run(body, { input: trace(), env, killAfterMs: KILL_AFTER_MS });
	assertEndedWell(ended);
	const { first, score, last, warnings, status } = ended.value;
	for (const { novelty, dimensions } of [first, last]) {
		assert.deepEqual(
			{ ...novelty, reason: "" },
			{
				source: "no-embedder",
				maxSimilarity: null,
				nearest: null,
				seq: null,
				reason: "",
			},
		);
		assert.match(novelty.reason, reason);
		assert.equal(dimensions.novelty, 0.5);
	}
	assert.deepEqual([first.score, last.score], [score, score]);
	assert.equal(status.embedder.state, "unavailable");
	assert.match(status.embedder.reason, reason);
	assert.equal(status.embedder.modelName, null);
	assert.deepEqual([status.pending, status.cacheSize], [0, 0]);
	assert.deepEqual(
		warnings.map(({ code, name }) => [code, name]),
		[["KNOWLEDGEPULSE_NO_EMBEDDER", "KnowledgePulseWarning"]],
	);
	assert.match(warnings[0].message, reason);
	assert.equal(ended.stdout, "");
	assert.equal(ended.stderr.match(/KNOWLEDGEPULSE_NO_EMBEDDER/g)?.length, 1, ended.stderr);
	return status.embedder;
}

/** Scores in a fresh process in which the embedder is required, and checks that it rejects. */
export async function assertRequired(env, reason) {
	const body = async ({ scoring, input }) => {
		const calls = [scoring.evaluateValue(input), scoring.explainValue(input)];
		const settled = await Promise.allSettled(calls);
		const errors = settled.map(({ status, reason }) => ({
			status,
			name: reason?.name,
			code: reason?.code,
			message: reason?.message,
		}));
		return { errors, status: scoring.status() };
	};
	const required = { ...env, KNOWLEDGEPULSE_SCORING_EMBEDDER: "required" };
	const ended = await run(body, { input: trace(), env: required, killAfterMs: KILL_AFTER_MS });
	assertEndedWell(ended);
	const { errors, status } = ended.value;
	for (const { message, ...error } of errors) {
		assert.deepEqual(error, {
			status: "rejected",
			name: "ScoringError",
			code: "EMBEDDER_UNAVAILABLE",
		});
		assert.match(message, reason);
	}
	assert.deepEqual([status.embedder.mode, status.embedder.state], ["required", "unavailable"]);
	assert.match(status.embedder.reason, reason);
	assert.deepEqual([status.pending, status.cacheSize], [0, 0]);
	assert.deepEqual([ended.stdout, ended.stderr], ["", ""]);
}

/** A pattern that matches `text` literally. */
export function literally(text) {
	return new RegExp(text.replace(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`));
}
