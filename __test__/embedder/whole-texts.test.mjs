import assert from "node:assert/strict";
import { test } from "node:test";
import { Scorer } from "@knowledgepulse/scoring";
import { runs } from "../fixtures/runs.mjs";
import { says, words } from "../support/traces.mjs";

/** A text of 510 words of one token each, which fill a window. */
const filled = (word) => Array(510).fill(word).join(" ");

/** The similarity of two texts, in [-1, 1]. */
async function similarity(options, one, other) {
	const scorer = new Scorer(options);
	await scorer.remember(says(one));
	return (await scorer.explainValue(says(other))).novelty.maxSimilarity;
}

const whole = (one, other) => similarity({ longText: "whole" }, one, other);

const window = (one, other) => similarity({}, one, other);

test("longText: whole scores a text within the window as longText: window, bit for bit", async () => {
	const short = runs.filter((run) => JSON.stringify(run).length < 1500);
	assert.ok(short.length > 5);
	const scores = (options) => new Scorer(options).evaluateValues(short);
	assert.deepEqual(await scores({ longText: "whole" }), await scores({}));
});

test("longText: whole reports tokens and windows", async () => {
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

const beginning = words(600, 1);

const [one, other] = [words(200, 2), words(200, 3)];

test("longText: whole distinguishes texts with the same beginning", async () => {
	const texts = [`${beginning} ${one}`, `${beginning} ${other}`];
	assert.ok((await window(...texts)) > 0.999999);
	assert.ok((await whole(...texts)) < 0.999);
});

test("longText: whole finds texts with the same end similar", async () => {
	const end = words(1000, 4);
	const texts = [`${one} ${end}`, `${other} ${end}`];
	assert.ok((await whole(...texts)) > (await window(...texts)) + 0.01);
});

test("longText: whole gives the same bits with the native backend", async () => {
	const texts = [`${beginning} ${one}`, `${beginning} ${other}`];
	const options = { longText: "whole", backend: "native" };
	assert.equal(await similarity(options, ...texts), await whole(...texts));
});

test("longText: whole keeps windows in the memo, but not those of one huge text", async () => {
	const scorer = new Scorer({ longText: "whole", precision: "fast" });
	const fromMemo = async (text) => (await scorer.explainValue(says(text))).text.fromMemo;
	const [one, other] = [words(60, 11), words(60, 12)];
	assert.equal(await fromMemo(`${filled("ember")} ${one}`), false);
	assert.equal(await fromMemo(`${filled("ember")} ${one}`), true);
	assert.equal(await fromMemo(`${filled("ember")} ${other}`), false);
	assert.equal(await fromMemo(filled("ember")), true);
	assert.equal(await fromMemo(Array(65).fill(filled("river")).join(" ")), false);
	assert.equal(await fromMemo(filled("river")), false);
});
