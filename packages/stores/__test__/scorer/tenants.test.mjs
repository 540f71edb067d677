import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Scorer } from "@knowledgepulse/scoring";
import { PostgresStore } from "@knowledgepulse/scoring-stores/postgres";
import { missing } from "../support/postgres.mjs";
import { startWithTenants, TENANTS } from "../support/tenants.mjs";
import { answerOf, assertReplayed, entriesOf, SCORER } from "./replay.mjs";

describe("tenants", { skip: missing }, () => {
	let started;
	before(async () => {
		started = await startWithTenants();
	});
	after(() => started?.stop());

	function open(user, options, namespace = user) {
		const store = new PostgresStore({ pool: started.pools[user], namespace });
		return { store, scorer: new Scorer({ ...SCORER, ...options, store }) };
	}

	test("scorers of two tenants find nothing of one another", async () => {
		const opened = TENANTS.map((user) => open(user));
		const answers = TENANTS.map(() => []);
		for (let number = 0; number < 20; number++)
			for (const [i, { scorer }] of opened.entries())
				answers[i].push(await answerOf(scorer, `words ${number} ${TENANTS[i]}`));
		for (const [i, { store, scorer }] of opened.entries()) {
			assert.equal(await assertReplayed(await entriesOf(store), answers[i]), 20);
			assert.equal(answers[i][0].maxSimilarity, null);
			assert.equal(scorer.status().cacheSize, 20);
		}
		const [acme, globex] = opened.map(({ scorer }) => scorer);
		assert.equal(await acme.forget("words 3 globex"), 0);
		await acme.clear();
		assert.equal(await globex.forget("words 3 globex"), 1);
	});

	test("a scorer cannot use the namespace of another tenant", async () => {
		const denied = /row-level security policy/;
		const { scorer } = open("acme", {}, "globex");
		const { source, reason } = await answerOf(scorer, "words 1");
		assert.equal(source, "no-store");
		assert.match(reason, denied);
		const required = open("acme", { storeMode: "required" }, "globex");
		const { error } = await answerOf(required.scorer, "words 1");
		assert.equal(error.code, "STORE_UNAVAILABLE");
		assert.match(error.message, denied);
	});
});
