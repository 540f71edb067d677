import assert from "node:assert/strict";
import { test } from "node:test";
import { codeReview, finance } from "../fixtures/examples.mjs";
import { valueFrom, valueWithoutEmbedder } from "../support/child.mjs";
import { assertClose } from "../support/reports.mjs";

const scoreIt = ({ scoring, input }) => scoring.evaluateValue(input);

for (const [name, example] of Object.entries({ codeReview, finance })) {
	test(`evaluateValue scores the example ${name} of the protocol, with and without an embedder`, async () => {
		const score = await valueFrom(scoreIt, { input: example.trace });
		assertClose(score, example.score, "with the embedder");
		const without = await valueWithoutEmbedder(scoreIt, {
			input: example.trace,
		});
		assert.equal(without, score, "without the embedder");
	});
}
