/** The tokens of the engine are those of transformers.js, which feeds the model of the SDK. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { BertTokenizer } from "@huggingface/transformers";
import fc from "fast-check";

const root = fileURLToPath(new URL("..", import.meta.url));
const model = `${root}benchmark/.model/Xenova/all-MiniLM-L6-v2/`;
const json = (name) => JSON.parse(readFileSync(model + name, "utf8"));

const MAX_TOKENS = 512;
const TEXTS = 10_000;

/** What is likely to be treated differently by two tokenizers. */
const pieces = fc.oneof(
	{ weight: 6, arbitrary: fc.stringMatching(/^[a-zA-Z]{1,12}$/) },
	{ weight: 3, arbitrary: fc.constantFrom(" ", "  ", "\n", "\t", "\r\n") },
	{ weight: 3, arbitrary: fc.string({ maxLength: 8 }) },
	{ weight: 3, arbitrary: fc.string({ unit: "grapheme", maxLength: 8 }) },
	{ weight: 3, arbitrary: fc.string({ unit: "binary", maxLength: 8 }) },
	{
		weight: 2,
		arbitrary: fc.constantFrom(
			...[
				"[SEP]",
				"[CLS]",
				"[MASK]",
				"[UNK]",
				"[PAD]",
				"[",
				"]",
				"[SE",
				"[sep]",
			],
			...[
				"Σ",
				"ΑΣ",
				"ΟΔΟΣ.",
				"Σ'Α",
				"İ",
				"ß",
				"ﬁ",
				"é",
				"e\u0301",
				"≠",
				"\u1fef",
			],
			...[
				"中文",
				"㐀",
				"𠀀",
				"豈",
				"중국",
				"きょう",
				"क्षि",
				"ไทย",
				"עִברִית",
				"عَرَبِيّ",
			],
			...[
				"🦀",
				"👩‍🔬",
				"🇪🇺",
				"1️⃣",
				"\u200b",
				"\u0000",
				"\u00ad",
				"\ufeff",
				"\ufffd",
			],
			...[
				"…",
				"。",
				"\u2028",
				"\u0085",
				"\u00a0",
				"\u3000",
				"ª",
				"²",
				"Ⅷ",
				"ǅ",
			],
		),
	},
	{
		weight: 1,
		arbitrary: fc
			.integer({ min: 90, max: 300 })
			.map((length) => "a".repeat(length)),
	},
);
const texts = fc
	.tuple(fc.array(pieces, { maxLength: 60 }), fc.integer({ min: 1, max: 20 }))
	.map(([parts, times]) => parts.join("").repeat(times));

test("tokens agree with transformers.js on generated texts", () => {
	const seed = fc.sample(fc.nat(), 1)[0];
	const sample = fc.sample(texts, { numRuns: TEXTS, seed });
	const { stdout, status } = spawnSync(
		"cargo",
		[
			...["run", "--quiet", "--release", "--example", "tokenize", "--"],
			`${model}tokenizer.json`,
		],
		{
			cwd: root,
			// A lone surrogate cannot be written as JSON for Rust; both sides drop U+FFFD.
			input: sample
				.map((text) => JSON.stringify(text.toWellFormed()))
				.join("\n"),
			encoding: "utf8",
			maxBuffer: 1 << 30,
			stdio: ["pipe", "pipe", "inherit"],
		},
	);
	assert.equal(status, 0);
	const found = stdout.trimEnd().split("\n");
	assert.equal(found.length, sample.length);
	const tokenizer = new BertTokenizer(
		json("tokenizer.json"),
		json("tokenizer_config.json"),
	);
	sample.forEach((text, index) => {
		// The tokenizer itself would cut and pad as its file says, which the SDK does not.
		const expected = tokenizer.encode(text).slice(0, MAX_TOKENS);
		assert.equal(
			found[index],
			JSON.stringify(expected),
			`seed ${seed}, text ${index}: ${JSON.stringify(text)}`,
		);
	});
});
