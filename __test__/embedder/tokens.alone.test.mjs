/**
 * Compares the tokens of the engine with those of transformers.js, for texts of all of Unicode and
 * long ones. Runs cargo.
 */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import fc from "fast-check";
import { platformName } from "../../tools/lib/build.mjs";
import { root } from "../../tools/lib/run.mjs";
import { draws, repeats, seed } from "../support/draws.mjs";
import { modelFolder, plainFolder, referenceTokenizer } from "../support/own-models.mjs";
import { anyText, comparable } from "../support/texts.mjs";
import { words } from "../support/traces.mjs";

/** Texts for one run of the tokenizer; long ones are fewer, because all are in memory. */
const AT_ONCE = 4000;
const LINES_AT_ONCE = 16;

const SHARE = Math.min(1, repeats(1) / 25);

const PLANES = 17;
const PLANE = 0x10000;

/** Characters in a text, few enough to fit the window. */
const CHARACTERS = 20;

/** Length of a long line, in UTF-16 code units. */
const MEGABYTE = 1 << 20;

/** Any code point, lone surrogates included; all planes are equally likely. */
const anywhere = fc
	.tuple(fc.nat(PLANES - 1), fc.nat(PLANE - 1))
	.map(([plane, at]) => String.fromCodePoint(plane * PLANE + at));

const within = (first, last) =>
	fc.integer({ min: first, max: last }).map((at) => String.fromCodePoint(at));

const some = (arbitrary, maxLength) =>
	fc.array(arbitrary, { minLength: 1, maxLength, size: "max" });

/** Ranges of code points of each kind. */
const RANGES = {
	control: "0-1f 7f-9f 200b-200f 2028-202e 2060-206f fff9-ffff e0000-e007f",
	mark:
		"300-36f 483-489 591-5bd 64b-65f 93a-94f e31-e4e 1ab0-1ace 20d0-20f0 302a-302f 3099-309a " +
		"fe20-fe2f 1d165-1d1ad",
	chinese:
		"4e00-9fff 3400-4dbf f900-faff 20000-323af 3040-30ff ac00-d7a3 1100-11ff 3000-303f ff00-ffef",
	letter: "61-7a 41-5a c0-24f 370-3ff 400-52f 1e00-1fff 10400-1044f",
	picture: "1f300-1faff 2600-27bf 1f1e6-1f1ff 30-39",
};

const { control, mark, chinese, letter, picture } = Object.fromEntries(
	Object.entries(RANGES).map(([kind, ranges]) => {
		const bounds = ranges
			.split(" ")
			.map((range) => range.split("-").map((hex) => Number(`0x${hex}`)));
		return [kind, fc.oneof(...bounds.map(([first, last]) => within(first, last)))];
	}),
);

/** Emoji: joined, coloured, flags of letters and of tags, keycaps. */
const emoji = fc
	.tuple(
		picture,
		fc.constantFrom("", "\ufe0f", "\ufe0e", "\u20e3", "\u{1f3fb}", "\u{1f3ff}"),
		fc.constantFrom("", "\u200d", "\u{e0067}\u{e007f}"),
	)
	.map((parts) => parts.join(""));

const surrogate = fc.oneof(
	{ weight: 3, arbitrary: fc.integer({ min: 0xd800, max: 0xdfff }) },
	{ weight: 1, arbitrary: fc.constantFrom(0xd83d, 0xde00, 0x5b, 0x53, 0x41) },
);

/** Words about as long as the longest that are looked up. */
const longWord = fc
	.tuple(
		fc.oneof(letter, fc.constantFrom("a", "e\u0301", "\u03a3", "\u0130", "\u00df", "\u{20000}")),
		fc.oneof(fc.integer({ min: 95, max: 105 }), fc.nat(1000)),
		fc.constantFrom("", "", "\u03a3", "ing", "\u0301", "\u200b", "\ufffd", "!"),
	)
	.map(([unit, count, end]) => unit.repeat(count) + end);

const join = (parts) => parts.join("");
const lines = fc.oneof(
	{ weight: 4, arbitrary: anyText },
	some(anywhere, 60).map(join),
	some(fc.oneof(anywhere, letter), 60).map(join),
	some(fc.oneof(control, letter), 60).map(join),
	some(fc.oneof(mark, letter), 80).map(join),
	some(fc.oneof(mark, chinese, letter), 60).map(join),
	some(fc.oneof(chinese, letter, fc.constant(" ")), 60).map(join),
	some(fc.oneof(emoji, letter, fc.constant(" ")), 40).map(join),
	some(surrogate, 40).map((units) => String.fromCharCode(...units)),
	some(longWord, 4).map((parts) => parts.join(" ")),
	some(fc.oneof(anywhere, control, mark, chinese, letter, emoji, longWord), 30).map(join),
);

/** Yields every code point, or a share of them, next to characters that could affect its tokens. */
function* codePointTexts(seed, share) {
	const draw = draws(seed);
	for (let first = 0; first < PLANES * PLANE; first += CHARACTERS) {
		if (draw.number() >= share) continue;
		const codes = Array.from({ length: CHARACTERS }, (_, at) => first + at);
		yield codes
			.filter((code) => code < PLANES * PLANE)
			.map((code) => String.fromCodePoint(code))
			// Alone, within a word, before a mark, and around a sigma, whose lower case depends on it.
			.map((c) => `${c} a${c}b ${c}\u0301 a\u03a3${c} a\u03a3${c}b ${c}\u03a3`)
			.join(" ");
	}
}

/** Yields lines of a megabyte: one piece over and over, sometimes after other words. */
function* longLines(seed, count) {
	const draw = draws(seed);
	const pieces = fc.sample(lines, { numRuns: count, seed });
	const filler = [" ", "a", ",", "\u4e2d", "\u0301 ", "[SEP", "\u{1f980}", "\u03a3"];
	for (const [index, generated] of pieces.entries()) {
		const piece = index < filler.length ? filler[index] : `${generated}x`;
		const start = draw.of(["", words(400, draw.below(1e9)), "x".repeat(99)]);
		yield (start + piece.repeat(MEGABYTE / piece.length)).slice(0, MEGABYTE);
	}
}

const MAX_TOKENS = 512;

/** Fails unless the texts have the tokens that `tokenizer` of transformers.js gives them. */
function assertSameTokens(texts, tokenizer, folder) {
	const found = engineTokens(texts, folder);
	for (const [index, text] of texts.entries()) {
		// With the truncation of the SDK instead of that in tokenizer.json.
		const expected = tokenizer.encode(text).slice(0, MAX_TOKENS);
		const start = JSON.stringify(text.slice(0, 2000));
		assert.equal(
			JSON.stringify(found[index]),
			JSON.stringify(expected),
			`KP_SEED=${seed}, text ${index} of ${text.length} code units: ${start}`,
		);
	}
}

/** Returns the token ids of each text by the built-in tokenizer, or by that of a folder. */
function engineTokens(texts, folder) {
	const builtIn = `npm/${platformName()}/model/vocabulary.bin`;
	const tokenizer = folder ? `${folder}/tokenizer.json` : builtIn;
	// As `cargo test` builds it, so that nothing is compiled again.
	const command = "run --quiet --profile test --example tokenize --".split(" ");
	const { stdout, status, error } = spawnSync("cargo", [...command, tokenizer], {
		cwd: root,
		// A lone surrogate cannot be written as JSON for Rust; both sides drop U+FFFD.
		input: texts.map((text) => JSON.stringify(text.toWellFormed())).join("\n"),
		encoding: "utf8",
		maxBuffer: 1 << 30,
		stdio: ["pipe", "pipe", "inherit"],
	});
	assert.ifError(error);
	assert.equal(status, 0);
	const lines = stdout.trimEnd().split("\n");
	assert.equal(lines.length, texts.length);
	return lines.map((line) => JSON.parse(line));
}

const KINDS = [
	["generated texts", () => fc.sample(lines, { numRuns: repeats(4000), seed }), AT_ONCE],
	["texts around code points", () => codePointTexts(seed, SHARE), AT_ONCE],
	["lines of a megabyte", () => longLines(seed, repeats(3)), LINES_AT_ONCE],
];

for (const [kind, texts, atOnce] of KINDS)
	test(`the built-in tokenizer gives ${kind} the tokens of transformers.js`, async (t) => {
		const tokenizer = await referenceTokenizer(plainFolder);
		const all = Array.from(texts(), comparable);
		for (let at = 0; at < all.length; at += atOnce)
			assertSameTokens(all.slice(at, at + atOnce), tokenizer);
		t.diagnostic(`${all.length} texts`);
	});

for (const name of ["bert", "cased", "mpnet", "xlm-roberta", "roberta", "long"])
	test(`the tokenizer of ${name} gives generated texts the tokens of transformers.js`, async () => {
		const folder = modelFolder(name);
		const sample = fc.sample(anyText, { numRuns: repeats(100), seed });
		// The engine replaces lone surrogates by U+FFFD, which the built-in tokenizer alone drops.
		const texts = sample.map((text) => text.toWellFormed());
		assertSameTokens(texts, await referenceTokenizer(folder), folder);
	});
