import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Scorer } from "../index.mjs";
import { runs } from "./fixtures/runs.mjs";
import { says, words } from "./lib/traces.mjs";

/** Words that are one token each, with so many of them a window is full. */
const filled = (word) => Array(510).fill(word).join(" ");

/** How alike a scorer finds a text and an earlier one, in [-1, 1]. */
async function similarity(options, one, other) {
	const scorer = new Scorer(options);
	await scorer.remember(says(one));
	return (await scorer.explainValue(says(other))).novelty.maxSimilarity;
}
const whole = (one, other) => similarity({ longText: "whole" }, one, other);
const window = (one, other) => similarity({}, one, other);

test("a text that fits in the window scores the same, bit for bit", async () => {
	const short = runs.filter((run) => JSON.stringify(run).length < 1500);
	assert.ok(short.length > 5);
	const scores = (options) => new Scorer(options).evaluateValues(short);
	assert.deepEqual(await scores({ longText: "whole" }), await scores({}));
});

test("what the model saw", async () => {
	const scorer = new Scorer({ longText: "whole" });
	assert.equal(scorer.status().longText, "whole");
	assert.equal(new Scorer().status().longText, "window");
	for (const [count, tokens, windows] of [
		[0, 2, 1],
		[510, 512, 1],
		[511, 512 + 3, 2],
		[1020, 2 * 512, 2],
		[1021, 2 * 512 + 3, 3],
		[5000, 5000 + 2 * 10, 10],
	]) {
		const { text } = await scorer.explainValue(says("river ".repeat(count)));
		assert.deepEqual(
			[text.tokens, text.windows, text.isCut],
			[tokens, windows, false],
			`${count} words`,
		);
	}
});

describe("what novelty sees", () => {
	const beginning = words(600, 1);
	const [one, other] = [words(600, 2), words(600, 3)];

	test("two texts with the same beginning and other ends", async () => {
		const texts = [`${beginning} ${one}`, `${beginning} ${other}`];
		assert.ok((await window(...texts)) > 0.999999);
		assert.ok((await whole(...texts)) < 0.999);
	});

	test("two texts with other beginnings and the same end", async () => {
		const end = words(1800, 4);
		const texts = [`${one} ${end}`, `${other} ${end}`];
		assert.ok((await whole(...texts)) > (await window(...texts)) + 0.01);
	});

	test("the mean of its windows, weighted by tokens", async () => {
		const [rivers, engines] = [
			filled("river"),
			Array(210).fill("engine").join(" "),
		];
		const cosine = await whole(rivers, engines);
		const [a, b] = [512, 212];
		const expected =
			(a + b * cosine) / Math.hypot(a, b, Math.sqrt(2 * a * b * cosine));
		const found = await whole(rivers, `${rivers} ${engines}`);
		assert.ok(Math.abs(found - expected) < 1e-6, `${found}, ${expected}`);
	});

	test("the same with the runtime in Rust, bit for bit", async () => {
		const texts = [`${beginning} ${one}`, `${beginning} ${other}`];
		const options = { longText: "whole", runtime: "rust" };
		assert.equal(await similarity(options, ...texts), await whole(...texts));
	});
});

test("windows met lately are not embedded again, but one text does not fill the memory", async () => {
	const scorer = new Scorer({ longText: "whole", precision: "fast" });
	const isRemembered = async (text) =>
		(await scorer.explainValue(says(text))).text.isRemembered;
	const [one, other] = [words(600, 11), words(600, 12)];
	assert.equal(await isRemembered(`${filled("ember")} ${one}`), false);
	assert.equal(await isRemembered(`${filled("ember")} ${one}`), true);
	assert.equal(await isRemembered(`${filled("ember")} ${other}`), false);
	const long = words(510 * 65, 13);
	assert.equal(await isRemembered(long), false);
	assert.equal(await isRemembered(long), false);
});

describe("a text that would take minutes", () => {
	const endless = () => says(words(1_000_000, 21));

	test("ends with its signal, and the next call goes on", async () => {
		const scorer = new Scorer({ longText: "whole" });
		await scorer.warmup();
		const signal = AbortSignal.timeout(50);
		const score = scorer.evaluateValue(endless(), { signal });
		const next = scorer.evaluateValue(says("river"));
		await assert.rejects(score, { name: "TimeoutError" });
		assert.ok((await next) > 0);
		assert.equal(scorer.status().cacheSize, 1);
	});

	test("ends with its scorer", async () => {
		const scorer = new Scorer({ longText: "whole" });
		await scorer.warmup();
		const score = scorer.evaluateValue(endless());
		await new Promise((resolve) => setTimeout(resolve, 50));
		scorer.close();
		await assert.rejects(score, { code: "CLOSED" });
	});

	test("is answered without its embedding when there is a budget", async () => {
		const scorer = new Scorer({ longText: "whole", budgetMs: 20 });
		const report = await scorer.explainValue(endless());
		assert.equal(report.novelty.source, "over-budget");
		scorer.close();
	});
});

test("a snapshot of whole texts is not one of their beginnings", async () => {
	const scorer = new Scorer({ longText: "whole" });
	await scorer.remember(says("river"));
	const snapshot = scorer.snapshot();
	assert.throws(() => Scorer.restore(snapshot), {
		code: "INVALID_SNAPSHOT",
		message: /model: expected "\w+", got "whole texts: \w+/,
	});
	const restored = Scorer.restore(snapshot, { longText: "whole" });
	assert.equal(restored.status().cacheSize, 1);
	assert.throws(
		() => Scorer.restore(new Scorer().snapshot(), { longText: "whole" }),
		{ code: "INVALID_SNAPSHOT" },
	);
});
