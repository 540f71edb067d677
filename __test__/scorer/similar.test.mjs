import assert from "node:assert/strict";
import { test } from "node:test";
import { clear, remember, Scorer, similar } from "@knowledgepulse/scoring";
import { named, sharing } from "../support/stores.mjs";
import { kinds, trace, words } from "../support/traces.mjs";

const TEXTS = Array.from({ length: 60 }, (_, index) => words(1 + (index % 4), index % 40));

/** A scorer that knows all texts, and some twice. */
async function filled(scorer) {
	await Promise.all(TEXTS.map((text, index) => scorer.remember(named(String(index), text))));
	return scorer;
}

for (const novelty of kinds)
	test(`similar finds the most similar vectors, of equals the oldest first, novelty ${novelty}`, async () => {
		const scorer = await filled(new Scorer({ novelty }));
		const vectors = await Promise.all(TEXTS.map((text) => scorer.embed(named("x", text))));
		const query = await scorer.embed("river stone");
		const cosine = (vector) => vector.reduce((sum, x, at) => sum + x * query[at], 0);
		const found = await scorer.similar("river stone", { k: 1000 });
		assert.equal(found.length, TEXTS.length);
		for (const { id, similarity } of found)
			assert.ok(Math.abs(similarity - cosine(vectors[id])) < 1e-6, id);
		const sorted = found.toSorted((a, b) => b.similarity - a.similarity || a.id - b.id);
		assert.deepEqual(found, sorted);
		assert.deepEqual(await scorer.similar("river stone", { k: 7 }), found.slice(0, 7));
		assert.deepEqual(await scorer.similar("river stone"), found.slice(0, 10));
		const atLeast = found[12].similarity;
		const near = found.filter(({ similarity }) => similarity >= atLeast);
		assert.deepEqual(await scorer.similar("river stone", { k: 1000, atLeast }), near);
	});

test("similar says when a trace was added, and null for one without an id", async () => {
	const { scorer: shared } = sharing();
	for (const scorer of [new Scorer(), shared()]) {
		const before = Date.now();
		await scorer.remember({ ...trace(), id: undefined });
		const after = Date.now();
		const [{ id, addedAt }] = await scorer.similar(trace());
		assert.equal(id, null);
		assert.ok(addedAt instanceof Date);
		// A scorer's own cache has another clock, which may differ slightly.
		assert.ok(addedAt >= before - 5 && addedAt <= after + 5, addedAt.toISOString());
	}
});

test("similar rejects for wrong options and a wrong trace", async () => {
	for (const [subject, options, code, path] of [
		["x", { k: 0 }, "INVALID_OPTION", "k"],
		["x", { k: 1.5 }, "INVALID_OPTION", "k"],
		["x", { atLeast: 1.1 }, "INVALID_OPTION", "atLeast"],
		["x", { atLeast: null }, "INVALID_OPTION", "atLeast"],
		["x", { atleast: 0 }, "INVALID_OPTION", "atleast"],
		[{}, {}, "INVALID_TRACE", "metadata"],
	])
		await assert.rejects(similar(subject, options), { code, path });
});

test("similar of the package searches the cache of the default scorer", async () => {
	await clear();
	await remember(named("a", "river"));
	const found = await similar("river");
	assert.deepEqual([found.length, found[0].id], [1, "a"]);
});
