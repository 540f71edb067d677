import assert from "node:assert/strict";
import { channel } from "node:diagnostics_channel";
import { test } from "node:test";
import { Scorer } from "@knowledgepulse/scoring";
import { sharing } from "../support/stores.mjs";
import { novel, profiles } from "../support/traces.mjs";

const known = "again";

for (const [place, make] of [
	["its cache", (options) => new Scorer(options)],
	["a store", (options) => sharing().scorer(options)],
]) {
	test(`known is decided in the turn of a call, with ${place}`, async () => {
		const scorer = make({ profiles });
		const published = [];
		const listen = ({ trace }) => published.push(trace.id);
		channel("knowledgepulse.scoring.score").subscribe(listen);
		await scorer.evaluateValue(novel("river stone", "0"));
		const one = novel("a ledger of refunds", "1");
		const [first, ...later] = await Promise.all([
			scorer.evaluateValue(one, { known }),
			scorer.evaluateValue(one, { known }),
			scorer.explainValue(one, { known }).then(({ score }) => score),
			scorer.decide(one, { known, threshold: 0.1 }).then(({ score }) => score),
		]);
		assert.deepEqual(later, [first, first, first]);
		assert.equal(scorer.status().cacheSize, 2);
		await scorer.forget("1");
		const anew = [1, 2].map(() => scorer.evaluateValue(one, { known }));
		assert.deepEqual(await Promise.all(anew), [first, first]);
		channel("knowledgepulse.scoring.score").unsubscribe(listen);
		assert.deepEqual(published, ["0", "1", "1"]);
		assert.equal(scorer.status().cacheSize, 2);
	});
}
