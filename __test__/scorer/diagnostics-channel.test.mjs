import assert from "node:assert/strict";
import { channel } from "node:diagnostics_channel";
import { test } from "node:test";
import { Scorer } from "@knowledgepulse/scoring";
import { traces } from "../../examples/traces.mjs";

test("Scorer publishes each score on the diagnostics channel", async () => {
	const published = [];
	const listen = (message) => published.push(message);
	const scored = channel("knowledgepulse.scoring.score");
	scored.subscribe(listen);
	const scorer = new Scorer({ embedder: "off" });
	const score = await scorer.evaluateValue(traces[0]);
	const report = await scorer.explainValue(traces[1]);
	await scorer.evaluateValue(traces[2], { remember: false });
	scored.unsubscribe(listen);
	await scorer.evaluateValue(traces[3]);
	assert.deepEqual(published, [
		{ scorer, trace: traces[0], score, report: undefined },
		{ scorer, trace: traces[1], score: report.score, report },
	]);
});
