import assert from "node:assert/strict";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { root } from "../../tools/lib/run.mjs";
import { assertEndedWell, run } from "../support/child.mjs";
import { temporaryFolder } from "../support/model-folder.mjs";
import { words } from "../support/traces.mjs";

const texts = [
	"",
	"Look for holes in the change to the login form",
	"One sentence with nothing odd in it, said thrice. ".repeat(3),
	"ÉCOLE, Straße, ΑΝΘΡΩΠΟΣ, İstanbul, naïve",
	"測試失敗三次,第四次才通過。",
	"안녕하세요 세계 — こんにちは世界",
	"👩‍🔬 emoji 🚀🚀 and \u200bzero\u200d width",
	"[CLS] [SEP] [MASK] [sep] [unk]",
	"tabs\tand\r\nlines\u2028and\u0000control\u0007characters",
	`${"x".repeat(100)} ${"x".repeat(101)} end`,
	"const a = b?.c ?? (d => d**2)(e); // comment",
	words(600, 1),
	words(509, 2),
	"?!".repeat(400),
];

/** Embeds all texts with both concurrently; one is loaded first. */
async function embedWithBoth({ input }) {
	const { embed } = await import("./oracle/embedder.mjs");
	const { says } = await import("./support/traces.mjs");
	// Each is used before the other one is loaded.
	if (input.first === "transformers.js") await embed("first");
	const scoring = await import("@knowledgepulse/scoring");
	const { source } = (await scoring.explainValue(says("first"))).novelty;
	const cache = scoring._getLocalCache();
	const rows = [];
	for (const text of input.texts) {
		cache.clear();
		// The text of the trace begins with a space.
		const [before, vector] = await Promise.all([
			scoring.explainValue(says(text)),
			embed(` ${text}`),
		]);
		cache.clear();
		cache.add(vector);
		const { novelty } = await scoring.explainValue(says(text));
		rows.push({ source: before.novelty.source, similarity: novelty.maxSimilarity });
	}
	return { source, rows, embedder: scoring.status().embedder };
}

/** Loads the package by the path of a folder, and by a link to it; with both, uses objects that the addon makes. */
async function useTwice({ input }) {
	const { createRequire } = await import("node:module");
	const require = createRequire(import.meta.url);
	const both = input.folders.map((folder) => require(folder));
	const sizes = both.map(({ Scorer }) => {
		const { cache } = new Scorer();
		cache.add(new Float32Array(384).fill(1));
		return cache.size;
	});
	return { isOne: both[0] === both[1], sizes };
}

// Node.js 20 and 22 leave links as they are without this option, too, once a program has read a pipe (nodejs/node#51142).
test("Scorer has its cache when the package is loaded by two paths of one folder", async (t) => {
	const link = join(temporaryFolder(t), "link");
	symlinkSync(root, link, "junction");
	const ended = await run(useTwice, {
		input: { folders: [root, link] },
		execArgv: ["--preserve-symlinks"],
		preload: false,
	});
	assertEndedWell(ended);
	assert.deepEqual(ended.value, { isOne: false, sizes: [1, 1] });
});

for (const first of ["ours", "transformers.js"]) {
	test(`evaluateValue and transformers.js give the same embeddings in one process, ${first} loaded first`, async () => {
		const some = first === "ours" ? texts : texts.slice(0, 6);
		const ended = await run(embedWithBoth, { input: { first, texts: some }, preload: false });
		assertEndedWell(ended);
		const { source, rows, embedder } = ended.value;
		assert.equal(source, "empty-cache", embedder.reason);
		assert.equal(rows.length, some.length);
		for (const [index, { source, similarity }] of rows.entries()) {
			const name = JSON.stringify(texts[index].slice(0, 60));
			assert.equal(source, "empty-cache", name);
			assert.ok(similarity > 0.99999, `${name}: similarity ${similarity} to their embedding`);
		}
	});
}
