import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { Scorer } from "@knowledgepulse/scoring";
import { valueFrom } from "../support/child.mjs";
import { temporaryFolder } from "../support/model-folder.mjs";
import { modelFolder } from "../support/own-models.mjs";
import { novel, profiles, says, trace } from "../support/traces.mjs";

/** The reference implementation of sketches may be beside the repository. */
const reference = fileURLToPath(new URL("../../../shared/novelty/", import.meta.url));

const unit = (numbers) => {
	const length = Math.hypot(...numbers);
	return Float32Array.from(numbers, (number) => (length > 0 ? number / length : 0));
};

const words = new Scorer({ novelty: "words" });

/** Fails unless texts have these sketches, which are counts by index. */
async function assertSketches(texts, sketches) {
	assert.equal(texts.length, sketches.length);
	for (const [index, text] of texts.entries()) {
		// The reference knows neither normal forms nor characters in place of words.
		if (Object.keys(sketches[index]).length === 0 && /\S/.test(text)) continue;
		const counts = Array.from({ length: 384 }, (_, at) => sketches[index][at] ?? 0);
		const length = Math.sqrt(counts.reduce((sum, count) => sum + count ** 2, 0));
		const expected = Float32Array.from(counts, (count) => (length > 0 ? count / length : 0));
		assert.deepEqual(await words.embed(text), expected, JSON.stringify(text));
	}
}

/** Texts of assigned characters of all scripts, of which pairs are repeated, with their sketches. */
const GENERATE = `
import json, random, sys, unicodedata
sys.path.insert(0, sys.argv[1])
from reference import sketch
random.seed(50)
known = [c for c in map(chr, range(0x32400)) if unicodedata.category(c) not in ("Cn", "Cs", "Co")]
pools = ["ab _1", "aA\\u00e9\\u0130\\u03a3\\u0301 .", "\\u4fee\\u590d\\u30c6\\u0e17 a", known, known[:600] + [" "] * 100]
for _ in range(10000):
    text = "".join(random.choices(random.choice(pools), k=random.randrange(90)))
    normal = unicodedata.normalize("NFC", text)
    print(json.dumps([text, {i: c for i, c in enumerate(sketch(normal)) if c}]))
`;

if (existsSync(reference)) {
	test("embed of words gives the recorded sketches", async () => {
		const all = JSON.parse(readFileSync(join(reference, "golden.json"), "utf8"));
		const golden = all.filter(({ text }) => text === text?.normalize());
		const many = Array.from({ length: 20_000 }, (_, i) => `w${i % 977}`).join(" ");
		const texts = golden.map(({ text }) => text ?? many);
		await assertSketches(
			texts,
			golden.map(({ sketch }) => sketch),
		);
	});

	test("embed of words gives the sketches of the reference for 10,000 texts", async () => {
		const options = { encoding: "utf8", maxBuffer: 2 ** 27 };
		const { stdout, stderr } = spawnSync("python3", ["-c", GENERATE, reference], options);
		const rows = stdout.trim().split("\n").map(JSON.parse);
		assert.equal(rows.length, 10_000, stderr);
		await assertSketches(
			rows.map(([text]) => text),
			rows.map(([, sketch]) => sketch),
		);
	});
}

for (const options of [{}, { model: modelFolder("bert"), normalize: false }])
	test(`embed of a run joins its objective and its words, with ${JSON.stringify(options)}`, async () => {
		const scorer = (novelty) => new Scorer({ ...options, novelty, embedder: "required" });
		const [text, run] = [scorer("text"), scorer("run")];
		for (const objective of ["", "Fix the 😀 bug", "é".repeat(9000), "river ".repeat(900)]) {
			const steps = [{ type: "thought", content: "I look, and look again" }];
			const value = trace({ objective, steps });
			const [embedding, sketch] = [await text.embed(objective), await words.embed(value)];
			const expected = unit([...unit(embedding), ...sketch]);
			const found = await run.embed(value);
			assert.equal(found.length, embedding.length + 384);
			assert.ok(found.every((x, at) => Math.abs(x - expected[at]) < 1e-6));
			assert.equal(run.status().embedder.dimensions, found.length);
		}
	});

test("novelty words and run are 0 for the same text in another normal form, and without words", async () => {
	for (const novelty of ["words", "run"]) {
		const scorer = new Scorer({ novelty });
		for (const text of ["수정 로그인 테스트", "Réparer l'été", "Sửa lỗi đăng nhập", "?! … 🎉"]) {
			const [a, b] = await Promise.all(
				["NFC", "NFD"].map((form) => scorer.embed(novel(text.normalize(form)))),
			);
			const [sketch, other] = [a, b].map((vector) => unit(vector.slice(-384)));
			const cosine = sketch.reduce((sum, x, at) => sum + x * other[at], 0);
			assert.ok(cosine > 1 - 1e-6, `${novelty}, ${text}: ${cosine}`);
		}
	}
});

test("novelty words distinguishes what is beyond the window, and in any script", async () => {
	const scorer = new Scorer({ novelty: "words", profiles });
	const text = "river ".repeat(600);
	for (const [one, other, least] of [
		[`${text}ends well`, `${text}fails in the end`, 0.02],
		["修复登录错误", "导出发票表格", 0.5],
	]) {
		await scorer.clear();
		await scorer.remember(novel(one));
		assert.ok((await scorer.evaluateValue(novel(one), { remember: false })) < 1e-6);
		assert.ok((await scorer.evaluateValue(novel(other), { remember: false })) > least);
	}
});

test("novelty words needs neither a model nor a library", async (t) => {
	const missing = join(temporaryFolder(t), "missing");
	const env = {
		KNOWLEDGEPULSE_SCORING_NOVELTY: "words",
		KNOWLEDGEPULSE_SCORING_MODEL: missing,
		KNOWLEDGEPULSE_SCORING_LIBRARY: missing,
		KNOWLEDGEPULSE_SCORING_EMBEDDER: "required",
	};
	const body = async ({ scoring, input }) => {
		const { embedder, novelty } = await scoring.warmup();
		return { ...embedder, novelty, text: (await scoring.explainValue(input)).text };
	};
	const found = await valueFrom(body, { input: says("river"), env });
	assert.deepEqual(
		[found.novelty, found.state, found.model, found.modelName, found.library, found.dimensions],
		["words", "ready", null, null, null, 384],
	);
	assert.deepEqual(found.text, {
		novelty: "words",
		modelName: "words",
		tokens: 0,
		isCut: false,
		fromMemo: false,
		unknownTokens: 0,
	});
});
