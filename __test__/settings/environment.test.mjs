import assert from "node:assert/strict";
import { join, relative } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { valueFrom, valueWithoutEmbedder } from "../support/child.mjs";
import { library, modelCopy, modelFolder, temporaryFolder } from "../support/model-folder.mjs";
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
			KNOWLEDGEPULSE_SCORING_LIBRARY: library,
		};
		const found = await valueFrom(source, { input: trace(), env });
		assert.deepEqual([found.source, found.model, found.mode], ["empty-cache", name, "required"]);
	}
});

test("KNOWLEDGEPULSE_SCORING_* variables that are empty are ignored", async () => {
	const env = {
		KNOWLEDGEPULSE_SCORING_EMBEDDER: "",
		KNOWLEDGEPULSE_SCORING_MODEL: "",
		KNOWLEDGEPULSE_SCORING_LIBRARY: "",
	};
	const found = await valueFrom(source, { input: trace(), env });
	assert.deepEqual(
		[found.source, found.mode, found.model, found.library],
		["empty-cache", "auto", modelFolder, library],
	);
});

test("configure overrides KNOWLEDGEPULSE_SCORING_EMBEDDER and _MODEL", async (t) => {
	const env = {
		KNOWLEDGEPULSE_SCORING_EMBEDDER: "off",
		KNOWLEDGEPULSE_SCORING_MODEL: join(temporaryFolder(t), "nowhere"),
	};
	const body = async ({ scoring, input }) => {
		scoring.configure({ embedder: "auto", model: input.modelFolder });
		return (await scoring.explainValue(input.trace)).novelty.source;
	};
	assert.equal(
		await valueFrom(body, { input: { trace: trace(), modelFolder }, env }),
		"empty-cache",
	);
});

test("KNOWLEDGEPULSE_SCORING_EMBEDDER with an unknown mode rejects every call until one is configured", async () => {
	const body = async ({ scoring, input }) => {
		const error = await scoring.evaluateValue(input).catch((error) => error);
		let thrown;
		try {
			scoring.status();
		} catch (error) {
			thrown = error;
		}
		scoring.configure({ embedder: "off" });
		const { novelty } = await scoring.explainValue(input);
		const plain = ({ name, code, path, message }) => ({ name, code, path, message });
		return [plain(error), plain(thrown), novelty.source];
	};
	const path = "KNOWLEDGEPULSE_SCORING_EMBEDDER";
	const found = await valueWithoutEmbedder(body, { input: trace(), env: { [path]: "on" } });
	const message = `${path}: expected "auto", "off" or "required", got "on"`;
	const error = { name: "ScoringError", code: "INVALID_OPTION", path, message };
	assert.deepEqual(found, [error, error, "no-embedder"]);
});
