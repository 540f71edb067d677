import assert from "node:assert/strict";
import { test } from "node:test";
import { runs } from "../../../__test__/data/runs.mjs";
import { Scorer } from "../../../__test__/oracle/scorer.mjs";
import { repeats } from "../../../__test__/support/draws.mjs";
import { assertWithin } from "../../../__test__/support/scores.mjs";
import { files, firstOf } from "../../../__test__/support/trace-files.mjs";
import { OPTIONS, ownExtractor, realExtractor } from "./support.mjs";

/** The greatest difference of numbers in vectors, and of scores. */
const TOLERANCE = 1e-4;

const own = await ownExtractor();
const real = await realExtractor();

const TEXTS = [
	"",
	" ",
	"hello",
	"Zażółć gęślą jaźń 日本語 🙂",
	...runs.slice(0, 2).map(({ steps }) => steps.map(({ content }) => content ?? "").join(" ")),
	"a text of more than 512 tokens ".repeat(200),
];

/** The properties of a tensor, except the numbers. */
function shapeOf(tensor) {
	const { type, dims, size, data } = tensor;
	const rows = tensor.tolist();
	return {
		type,
		dims,
		size,
		length: data.length,
		data: Object.prototype.toString.call(data),
		rows: rows.map((row) => [Array.isArray(row), row.length, typeof row[0]]),
	};
}

for (const [name, texts] of [
	["a text", "hello"],
	["an empty text", ""],
	["an array of one text", ["hello"]],
	["an array of texts", TEXTS],
])
	test(`extractor gives for ${name} what transformers.js gives`, async (t) => {
		const found = await own(texts, OPTIONS);
		const expected = await real(texts, OPTIONS);
		assert.deepEqual(shapeOf(found), shapeOf(expected));
		assert.deepEqual(found.tolist().flat(), [...found.data]);
		const worst = assertWithin(TOLERANCE, found.data, expected.data);
		t.diagnostic(`largest difference of vectors: ${worst}`);
	});

test("extractor gives every caller a separate array", async () => {
	const first = await own("hello", OPTIONS);
	const expected = Float32Array.from(first.data);
	first.data.fill(0);
	assert.deepEqual((await own("hello", OPTIONS)).data, expected);
});

test("extractor ignores options that transformers.js ignores", async () => {
	const plain = await own("hello", OPTIONS);
	const options = { ...OPTIONS, quantize: false, truncation: true };
	assert.deepEqual(await own("hello", options), plain);
});

test("extractor works after dispose, since the model is shared", async () => {
	const expected = await own("hello", OPTIONS);
	const other = await ownExtractor();
	assert.equal(await other.dispose(), undefined);
	assert.deepEqual(await other("hello", OPTIONS), expected);
});

for (const file of files)
	test(`extractor gives the SDK's scoring the golden scores of ${file}`, async (t) => {
		const { traces, golden } = firstOf(file, repeats(10));
		const embed = async (text) => (await own(text, OPTIONS)).data;
		const scorer = new Scorer({ embed });
		const scores = await Promise.all(traces.map((trace) => scorer.evaluateValue(trace)));
		const expected = golden.map(({ score }) => score);
		const worst = assertWithin(TOLERANCE, scores, expected);
		t.diagnostic(`largest difference of scores: ${worst}`);
	});
