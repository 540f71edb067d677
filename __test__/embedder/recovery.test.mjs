import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { Scorer } from "@knowledgepulse/scoring";
import { assertEndedWell, run, valueFrom, valueWithoutEmbedder } from "../support/child.mjs";
import {
	library,
	link,
	modelCopy,
	modelFolder,
	otherLibrary,
	temporaryFolder,
} from "../support/model-folder.mjs";
import { says, trace, words } from "../support/traces.mjs";

/**
 * Scores without an embedder, installs it, and scores again after `retry`: "wait" until loading is
 * retried, or options for `configure`.
 */
async function recover({ scoring, input }) {
	const { rmSync } = await import("node:fs");
	const { setTimeout: sleep } = await import("node:timers/promises");
	const { link } = await import("./support/model-folder.mjs");
	const sources = [];
	const score = async () => {
		const report = await scoring
			.explainValue(input.trace)
			.catch(({ code }) => ({ novelty: { source: code } }));
		sources.push(report.novelty.source);
	};
	await score();
	await score();
	if (input.put) {
		const [place, file] = input.put;
		rmSync(place, { force: true });
		link(file, place);
	}
	if (input.retry === "wait") await sleep(1_100);
	else scoring.configure(input.retry);
	await score();
	await score();
	const { state, reason, backend } = scoring.status().embedder;
	return { sources, state, reason, backend };
}

const RECOVERED = {
	sources: ["no-embedder", "no-embedder", "empty-cache", "cache"],
	state: "ready",
	reason: null,
	backend: "native",
};

const WITH_LIBRARY = { ...RECOVERED, backend: "onnx" };

describe("recovery of the embedder", { concurrency: 4 }, () => {
	const auto = { KNOWLEDGEPULSE_SCORING_EMBEDDER: "auto" };

	const [MODEL, LIBRARY] = ["KNOWLEDGEPULSE_SCORING_MODEL", "KNOWLEDGEPULSE_SCORING_LIBRARY"];
	const ONNX = { ...auto, KNOWLEDGEPULSE_SCORING_BACKEND: "onnx" };

	for (const before of ["nothing", "text"])
		for (const [name, file, retry, settings, expected] of [
			[MODEL, modelFolder, "wait", auto, RECOVERED],
			[MODEL, modelFolder, {}, auto, RECOVERED],
			[LIBRARY, library, "wait", ONNX, WITH_LIBRARY],
			[LIBRARY, library, {}, ONNX, WITH_LIBRARY],
		]) {
			const when = retry === "wait" ? "a while" : "configure({})";
			test(`evaluateValue uses ${name} once it is put where ${before} was, after ${when}`, async (t) => {
				const place = join(temporaryFolder(t), "place");
				if (before === "text") writeFileSync(place, "not what was expected");
				const input = { trace: trace(), put: [place, file], retry };
				const env = { ...settings, [name]: place };
				assert.deepEqual(await valueWithoutEmbedder(recover, { input, env }), expected);
			});
		}

	test("evaluateValue uses the model once configure names its place", async (t) => {
		const env = { ...auto, [MODEL]: join(temporaryFolder(t), "nowhere") };
		const input = { trace: trace(), retry: { model: modelFolder } };
		assert.deepEqual(await valueWithoutEmbedder(recover, { input, env }), RECOVERED);
	});

	test("evaluateValue uses the right library after a wrong one", async () => {
		const env = { ...ONNX, [LIBRARY]: otherLibrary };
		const input = { trace: trace(), retry: { library } };
		assert.deepEqual(await valueWithoutEmbedder(recover, { input, env }), WITH_LIBRARY);
	});

	test("evaluateValue uses the embedder once it is switched on", async () => {
		const input = { trace: trace(), retry: { embedder: "auto" } };
		const env = { KNOWLEDGEPULSE_SCORING_EMBEDDER: "off" };
		assert.deepEqual(await valueFrom(recover, { input, env }), RECOVERED);
	});

	test("evaluateValue rejects until the required embedder is there", async (t) => {
		const place = join(temporaryFolder(t), "place");
		const env = { KNOWLEDGEPULSE_SCORING_EMBEDDER: "required", [MODEL]: place };
		const input = { trace: trace(), put: [place, modelFolder], retry: {} };
		const sources = ["EMBEDDER_UNAVAILABLE", "EMBEDDER_UNAVAILABLE", "empty-cache", "cache"];
		assert.deepEqual(await valueFrom(recover, { input, env }), { ...RECOVERED, sources });
	});
});

test("scorers share the model that is loaded after a failure", async (t) => {
	const place = join(temporaryFolder(t), "place");
	const first = new Scorer({ model: place, embedder: "required" });
	await assert.rejects(first.warmup(), { code: "EMBEDDER_UNAVAILABLE" });
	const second = new Scorer({ model: place, embedder: "required" });
	link(modelFolder, place);
	await second.embed("the same text");
	await new Promise((resolve) => setTimeout(resolve, 1_100));
	const { text } = await first.explainValue(says("the same text"));
	assert.equal(text.fromMemo, true);
});

test("evaluateValue resolves when the warning about the embedder throws", async () => {
	const body = async ({ scoring, input }) => {
		process.emitWarning = () => {
			throw new Error("no warnings here");
		};
		// The error may or may not be reported.
		process.on("uncaughtException", () => {});
		const calls = Array.from({ length: 5 }, () => scoring.evaluateValue(input));
		return Promise.all(calls);
	};
	const env = {
		KNOWLEDGEPULSE_SCORING_EMBEDDER: "auto",
		KNOWLEDGEPULSE_SCORING_MODEL: "nowhere",
	};
	const ended = await run(body, { input: trace(), env });
	assertEndedWell(ended);
	assert.equal(ended.value.length, 5);
	assert.equal(new Set(ended.value).size, 1, String(ended.value));
});

const traces = Array.from({ length: 7 }, (_, i) => says(words(40 + i, i)));

async function scoreAndChange({ scoring, input }) {
	const { rmSync, writeFileSync } = await import("node:fs");
	const [first, ...others] = input.traces;
	const scores = [await scoring.evaluateValue(first)];
	if (input.file) rmSync(input.file);
	if (input.text) writeFileSync(input.file, input.text);
	// Concurrent texts use more of the model than one.
	const reports = await Promise.all(others.map(scoring.explainValue));
	scores.push(...reports.map(({ score }) => score));
	return [scores, reports.map(({ novelty }) => novelty.source)];
}

/**
 * Scores in a fresh process with the model in `folder`. After the first score its file `name`, if given, is
 * replaced by `text`, or removed without one. Returns scores and sources of novelty.
 */
function scoresWhileChanging(folder, env, name, text) {
	return valueFrom(scoreAndChange, {
		input: { traces, file: name && join(folder, name), text },
		env: { ...env, KNOWLEDGEPULSE_SCORING_MODEL: folder },
	});
}

/** The files that each variable makes a process read. */
const read = [
	[{}, "model.bin"],
	[{ KNOWLEDGEPULSE_SCORING_BACKEND: "onnx" }, "model.bin", "model.onnx"],
	[{ KNOWLEDGEPULSE_SCORING_PRECISION: "fast" }, "model.bin"],
];

for (const [env, ...names] of read) {
	const expected = scoresWhileChanging(modelFolder, env);
	for (const name of names)
		for (const text of ["", "not what was expected"]) {
			const change = `${name} is ${text ? "damaged" : "missing"} after the first score`;
			test(`evaluateValue scores as before when ${change}, ${Object.values(env)}`, async (t) => {
				const folder = modelCopy(temporaryFolder(t));
				const found = await scoresWhileChanging(folder, env, name, text);
				assert.deepEqual(found, await expected);
			});
		}
}
