import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { assertEndedWell, run } from "../support/child.mjs";
import { words } from "../support/traces.mjs";

/** The published model as transformers.js reads it; `npm test` puts it there. */
const plainModel = fileURLToPath(new URL("../../benchmark/.model/", import.meta.url));

const GENERATED = 40;

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

/** Embeds all texts with both, one of which is loaded first, at the same time. */
async function embedWithBoth({ input }) {
	const loaders = {
		ours: () => import("@knowledgepulse/scoring"),
		theirs: async () => {
			const { env, pipeline } = await import("@huggingface/transformers");
			env.localModelPath = input.plainModel;
			env.allowRemoteModels = false;
			return pipeline("feature-extraction", "Xenova/all-MiniLM-L6-v2", { dtype: "fp32" });
		},
	};
	const { says } = await import("./support/traces.mjs");
	const scored = async (scoring) => (await scoring.explainValue(says("first"))).novelty.source;
	const embedded = async (embed, text) =>
		(await embed(text, { pooling: "mean", normalize: true })).data;
	let [scoring, embed, source] = [];
	for (const name of input.order) {
		// Each is used before the other one is loaded.
		if (name === "ours") {
			scoring = await loaders.ours();
			source = await scored(scoring);
		} else {
			embed = await loaders.theirs();
			await embedded(embed, "first");
		}
	}
	const cache = scoring._getLocalCache();
	const rows = [];
	for (const text of input.texts) {
		cache.clear();
		// The text of the trace begins with a space.
		const [before, vector] = await Promise.all([
			scoring.explainValue(says(text)),
			embedded(embed, ` ${text}`),
		]);
		cache.clear();
		cache.add(vector);
		const { novelty } = await scoring.explainValue(says(text));
		rows.push({ text, vector, source: before.novelty.source, similarity: novelty.maxSimilarity });
	}
	const pairs = [];
	for (let i = 1; i < rows.length; i++) {
		cache.clear();
		await scoring.evaluateValue(says(rows[i - 1].text));
		const { dimensions, novelty } = await scoring.explainValue(says(rows[i].text));
		const cosine = rows[i].vector.reduce((sum, x, at) => sum + x * rows[i - 1].vector[at], 0);
		pairs.push({ novelty: dimensions.novelty, similarity: novelty.maxSimilarity, cosine });
	}
	return { source, rows, pairs, embedder: scoring.status().embedder };
}

test("the published model is there for transformers.js", () => {
	assert.ok(
		existsSync(plainModel),
		`${plainModel} is missing: run npm test, or tools/assets.py --plain`,
	);
});

for (const order of [
	["ours", "theirs"],
	["theirs", "ours"],
]) {
	test(`evaluateValue and transformers.js give the same embeddings in one process, ${order[0]} loaded first`, async (t) => {
		const seed = fc.sample(fc.nat(), 1)[0];
		const text = fc.string({ unit: "binary", maxLength: 200 }).map((text) => text.toWellFormed());
		const generated = fc.sample(text, { numRuns: GENERATED, seed });
		const input = { order, plainModel, texts: [...texts, ...generated] };
		const ended = await run(embedWithBoth, { input, preload: false });
		assertEndedWell(ended);
		const { source, rows, pairs, embedder } = ended.value;
		assert.equal(source, "empty-cache", embedder.reason);
		assert.equal(rows.length, texts.length + GENERATED);
		for (const { text, source, similarity } of rows) {
			const name = `seed ${seed}: ${JSON.stringify(text.slice(0, 60))}`;
			assert.equal(source, "empty-cache", name);
			assert.ok(similarity > 0.99999, `${name}: similarity ${similarity} to their embedding`);
		}
		let worst = 0;
		for (const [i, { novelty, similarity, cosine }] of pairs.entries()) {
			const name = `seed ${seed}: texts ${i} and ${i + 1}`;
			const distance = Math.abs(similarity - cosine);
			assert.ok(distance <= 1e-4, `${name}: similarity ${similarity}, their cosine ${cosine}`);
			assert.ok(Math.abs(novelty - Math.min(1, 1 - cosine)) <= 1e-4, `${name}: novelty ${novelty}`);
			worst = Math.max(worst, distance);
		}
		t.diagnostic(`largest distance: ${worst}`);
	});
}

test("process.exit() ends a process that has loaded transformers.js, too", async () => {
	for (const order of ["ours", "theirs"]) {
		const ended = await run(
			async ({ input }) => {
				const { env, pipeline } = await import("@huggingface/transformers");
				const { evaluateValue } = await import("@knowledgepulse/scoring");
				const { says } = await import("./support/traces.mjs");
				env.localModelPath = input.plainModel;
				env.allowRemoteModels = false;
				const ours = () => evaluateValue(says(input.text));
				if (input.order === "ours") await ours();
				const embed = await pipeline("feature-extraction", "Xenova/all-MiniLM-L6-v2", {
					dtype: "fp32",
				});
				await embed("first");
				for (let i = 0; i < 10; i++) ours();
				await ours();
				process.exit(12);
			},
			{ input: { plainModel, order, text: words(400, 1) }, preload: false },
		);
		assert.deepEqual([ended.code, ended.signal], [12, null], `${order}: ${ended.stderr}`);
	}
});
