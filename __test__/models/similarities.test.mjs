import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Scorer } from "@knowledgepulse/scoring";
import { repeats } from "../support/draws.mjs";
import {
	cosine,
	modelFolder,
	plainFolder,
	referenceEmbedder,
	sentences,
} from "../support/own-models.mjs";

const TEXTS = repeats(20);
const TOLERANCE = 1e-5;

/** Name of the model, the pooling for transformers.js, and options that the folder lacks. */
const ROWS = [
	["bert", "mean"],
	["cased", "cls"],
	["xlm-roberta", "mean"],
	["mpnet", "mean"],
	["roberta", "cls"],
	["long", "last"],
	["half", "mean"],
	["external", "mean"],
	["pooled", undefined],
];

/** Texts in six scripts: one sentence, several, and some that fill the window. */
function texts() {
	const all = Object.values(sentences).flat();
	return Array.from({ length: TEXTS }, (_, index) => {
		const count = 1 + ((index * 7) % 5) + (index % 25 === 0 ? 60 : 0);
		const textAt = (_, at) => all[(index * 11 + at * 13) % all.length];
		return Array.from({ length: count }, textAt).join(" ");
	});
}

describe("similarities are those of transformers.js", { concurrency: 1 }, () => {
	const sample = texts();

	async function compare(folder, pooling, options) {
		const reference = await referenceEmbedder(folder, pooling);
		const scorer = new Scorer({ model: folder, embedder: "required", ...options });
		const vectors = [];
		for (const text of sample) vectors.push([await scorer.embed(text), await reference(text)]);
		let greatest = 0;
		for (const [index, [own, theirs]] of vectors.entries()) {
			const [before, theirBefore] = vectors[(index * 17 + 1) % vectors.length];
			const difference = cosine(own, before) - cosine(theirs, theirBefore);
			greatest = Math.max(greatest, Math.abs(difference), Math.abs(1 - cosine(own, theirs)));
		}
		assert.ok(greatest <= TOLERANCE, `differ by ${greatest}`);
		scorer.close();
	}

	for (const [name, pooling] of ROWS)
		test(`similarities of ${name} on ${TEXTS} texts`, () => compare(modelFolder(name), pooling));

	test(`similarities of the plain export of the built-in model on ${TEXTS} texts`, () =>
		compare(plainFolder, "mean", { pooling: "mean" }));
});
