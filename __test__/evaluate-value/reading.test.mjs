import assert from "node:assert/strict";
import { test } from "node:test";
import vm from "node:vm";
import { _getLocalCache, evaluateValue, explainValue } from "@knowledgepulse/scoring";
import { codeReview } from "../data/runs.mjs";
import { shapes } from "../support/mutations.mjs";
import { assertClose, explainAlone } from "../support/scores.mjs";
import { trace } from "../support/traces.mjs";

const plain = () => structuredClone(codeReview.trace);

const made = {
	...shapes,
	"objects of another realm": (trace) => vm.runInNewContext(`(${JSON.stringify(trace)})`),
	"fields of the wrong type that are not read": (trace) =>
		Object.assign(trace, { id: 5, "@context": null, "@type": [], extra: Symbol("s") }),
};

for (const [name, make] of Object.entries(made)) {
	test(`evaluateValue reads ${name} like plain objects`, async () => {
		assertClose((await explainAlone(plain())).score, codeReview.score, "plain");
		const { novelty, score } = await explainValue(make(plain()));
		assert.ok(novelty.maxSimilarity > 0.999999, `${name}: ${novelty.maxSimilarity}`);
		assertClose(score, codeReview.score - 0.5 * 0.35 + (1 - novelty.maxSimilarity) * 0.35, name);
	});
}

test("evaluateValue ignores changes of the trace after the call", async () => {
	const changed = plain();
	_getLocalCache().clear();
	const scored = evaluateValue(changed);
	changed.metadata.task_domain = "finance";
	changed.metadata.success = false;
	changed.outcome.confidence = 0;
	changed.task.objective = 5;
	changed.steps.length = 0;
	assertClose(await scored, codeReview.score, "score");
	const { novelty } = await explainValue(plain());
	assert.ok(novelty.maxSimilarity > 0.999999, `the text read: ${novelty.maxSimilarity}`);
});

test("evaluateValue takes absent, null and empty content for the same", async () => {
	const contents = [{}, { content: undefined }, { content: null }, { content: "" }];
	const say = (rest) =>
		trace({
			steps: [
				{ type: "thought", ...rest },
				{ type: "observation", content: "Done" },
			],
		});
	const first = await explainAlone(say(contents[0]));
	for (const content of contents) {
		const { dimensions, novelty } = await explainValue(say(content));
		assert.ok(
			novelty.maxSimilarity > 0.999999,
			`${JSON.stringify(content)}: ${novelty.maxSimilarity}`,
		);
		assert.equal(dimensions.complexity, first.dimensions.complexity);
	}
});

test("evaluateValue accepts no steps, and 100,000", async () => {
	assertClose((await explainAlone(trace({ steps: [] }))).score, 0.375, "none");
	const steps = Array.from({ length: 100_000 }, (_, i) => ({
		type: `type ${i}`,
		tool: { name: `tool ${i}` },
	}));
	assertClose((await explainAlone(trace({ steps }))).score, 0.25 + 0.175 + 0.15 + 0.2, "100,000");
});
