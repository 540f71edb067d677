import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { scoresWhileChanging } from "./lib/changing-files.mjs";
import {
	assertEndedWell,
	run,
	valueFrom,
	valueWithoutEmbedder,
} from "./lib/child.mjs";
import {
	library,
	modelCopy,
	modelDir,
	temporaryFolder,
} from "./lib/model-folder.mjs";
import { trace } from "./lib/traces.mjs";

/**
 * Scores without an embedder, does away with what stands in its place, puts the embedder there, and
 * scores again after `retry`: "wait" (longer than the second in which a failure is remembered) or
 * the options for `configure`.
 */
async function recover({ scoring, input }) {
	const { rmSync } = await import("node:fs");
	const { setTimeout: sleep } = await import("node:timers/promises");
	const { link } = await import("./lib/model-folder.mjs");
	const sources = [];
	const score = async () => {
		const report = await scoring
			.explainValue(input.trace)
			.catch(({ code }) => ({ novelty: { source: code } }));
		sources.push(report.novelty.source);
	};
	await score();
	await score();
	for (const [place, file] of input.put ?? []) {
		rmSync(place, { force: true });
		link(file, place);
	}
	if (input.retry === "wait") await sleep(1_100);
	else scoring.configure(input.retry);
	await score();
	await score();
	const { state, reason } = scoring.status().embedder;
	return { sources, state, reason };
}

const RECOVERED = {
	sources: ["no-embedder", "no-embedder", "empty-cache", "cache"],
	state: "ready",
	reason: null,
};

describe("the embedder comes back in the same process", {
	concurrency: 4,
}, () => {
	const auto = { KNOWLEDGEPULSE_SCORING_EMBEDDER: "auto" };
	const rows = [
		["the model", "KNOWLEDGEPULSE_SCORING_MODEL_DIR", modelDir],
		["the library", "KNOWLEDGEPULSE_SCORING_LIBRARY", library],
	];
	for (const [name, variable, original] of rows) {
		for (const before of ["nothing", "text"]) {
			for (const retry of ["wait", {}]) {
				const when = retry === "wait" ? "after a while" : "after configure({})";
				test(`when ${name} is put where ${before} was, ${when}`, async (t) => {
					const place = join(temporaryFolder(t), "place");
					if (before === "text") writeFileSync(place, "not what was expected");
					const input = { trace: trace(), put: [[place, original]], retry };
					const env = { ...auto, [variable]: place };
					assert.deepEqual(
						await valueWithoutEmbedder(recover, { input, env }),
						RECOVERED,
					);
				});
			}
		}

		test(`when configure names another place for ${name}`, async (t) => {
			const env = { ...auto, [variable]: join(temporaryFolder(t), "nowhere") };
			const input = { trace: trace(), retry: { modelDir, library } };
			assert.deepEqual(
				await valueWithoutEmbedder(recover, { input, env }),
				RECOVERED,
			);
		});
	}

	test("when configure names the right library after a wrong one", async () => {
		const wrong = process.report
			.getReport()
			.sharedObjects.find((file) => /libc\.so|libSystem|kernel32/i.test(file));
		const env = { ...auto, KNOWLEDGEPULSE_SCORING_LIBRARY: wrong };
		const input = { trace: trace(), retry: { library } };
		assert.deepEqual(
			await valueWithoutEmbedder(recover, { input, env }),
			RECOVERED,
		);
	});

	test("when it was switched off", async () => {
		const input = { trace: trace(), retry: { embedder: "auto" } };
		assert.deepEqual(await valueWithoutEmbedder(recover, { input }), RECOVERED);
	});

	test("when it is required", async (t) => {
		const place = join(temporaryFolder(t), "place");
		const env = {
			KNOWLEDGEPULSE_SCORING_EMBEDDER: "required",
			KNOWLEDGEPULSE_SCORING_LIBRARY: place,
		};
		const input = { trace: trace(), put: [[place, library]], retry: {} };
		const sources = [
			"EMBEDDER_UNAVAILABLE",
			"EMBEDDER_UNAVAILABLE",
			"empty-cache",
			"cache",
		];
		assert.deepEqual(await valueFrom(recover, { input, env }), {
			...RECOVERED,
			sources,
		});
	});
});

test("a warning that cannot be given takes no score away", async () => {
	const body = async ({ scoring, input }) => {
		process.emitWarning = () => {
			throw new Error("no warnings here");
		};
		// Whether the error comes to light is open.
		process.on("uncaughtException", () => {});
		const calls = Array.from({ length: 5 }, () => scoring.evaluateValue(input));
		return Promise.all(calls);
	};
	const env = { KNOWLEDGEPULSE_SCORING_EMBEDDER: "off" };
	const ended = await run(body, { input: trace(), env });
	assertEndedWell(ended);
	assert.equal(ended.value.length, 5);
	assert.equal(new Set(ended.value).size, 1, String(ended.value));
});

describe("model files that change after the first score", () => {
	for (const name of ["model.bin", "exact.onnx"]) {
		for (const text of ["", "not what was expected"]) {
			const change = text ? "damaged" : "missing";
			test(`do not change the others: ${name} is ${change}`, async (t) => {
				const folder = modelCopy(temporaryFolder(t));
				const found = await scoresWhileChanging(folder, [name], text);
				assert.deepEqual(found, await scoresWhileChanging(modelDir, [], ""));
			});
		}
	}
});
