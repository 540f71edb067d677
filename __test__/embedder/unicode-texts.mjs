/** Texts that two tokenizers may take differently. */

import fc from "fast-check";
import { draws } from "../support/draws.mjs";
import { anyText } from "../support/texts.mjs";
import { words } from "../support/traces.mjs";

const PLANES = 17;
const PLANE = 0x10000;

/** Characters in a text: few enough that all of it is within the window. */
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

const control = fc.oneof(
	within(0, 0x1f),
	within(0x7f, 0x9f),
	within(0x200b, 0x200f),
	within(0x2028, 0x202e),
	within(0x2060, 0x206f),
	within(0xfff9, 0xffff),
	within(0xe0000, 0xe007f),
);

const mark = fc.oneof(
	within(0x300, 0x36f),
	within(0x483, 0x489),
	within(0x591, 0x5bd),
	within(0x64b, 0x65f),
	within(0x93a, 0x94f),
	within(0xe31, 0xe4e),
	within(0x1ab0, 0x1ace),
	within(0x20d0, 0x20f0),
	within(0x302a, 0x302f),
	within(0x3099, 0x309a),
	within(0xfe20, 0xfe2f),
	within(0x1d165, 0x1d1ad),
);

const chinese = fc.oneof(
	within(0x4e00, 0x9fff),
	within(0x3400, 0x4dbf),
	within(0xf900, 0xfaff),
	within(0x20000, 0x323af),
	within(0x3040, 0x30ff),
	within(0xac00, 0xd7a3),
	within(0x1100, 0x11ff),
	within(0x3000, 0x303f),
	within(0xff00, 0xffef),
);

const letter = fc.oneof(
	within(0x61, 0x7a),
	within(0x41, 0x5a),
	within(0xc0, 0x24f),
	within(0x370, 0x3ff),
	within(0x400, 0x52f),
	within(0x1e00, 0x1fff),
	within(0x10400, 0x1044f),
);

/** Emoji: joined, coloured, flags of letters and of tags, keycaps. */
const emoji = fc
	.tuple(
		fc.oneof(
			within(0x1f300, 0x1faff),
			within(0x2600, 0x27bf),
			within(0x1f1e6, 0x1f1ff),
			within(0x30, 0x39),
		),
		fc.constantFrom("", "\ufe0f", "\ufe0e", "\u20e3", "\u{1f3fb}", "\u{1f3ff}"),
		fc.constantFrom("", "\u200d", "\u{e0067}\u{e007f}"),
	)
	.map((parts) => parts.join(""));

const surrogate = fc.oneof(
	{ weight: 3, arbitrary: fc.integer({ min: 0xd800, max: 0xdfff }) },
	{ weight: 1, arbitrary: fc.constantFrom(0xd83d, 0xde00, 0x5b, 0x53, 0x41) },
);

/** Words about as long as the longest one that is looked up. */
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

/** Returns `count` generated texts. */
export function generatedTexts(seed, count) {
	return fc.sample(lines, { numRuns: count, seed });
}

/** Yields every code point, or a share of them, beside characters that could change its tokens. */
export function* codePointTexts(seed, share) {
	const draw = draws(seed);
	for (let first = 0; first < PLANES * PLANE; first += CHARACTERS) {
		if (draw.number() >= share) continue;
		const codes = Array.from({ length: CHARACTERS }, (_, at) => first + at);
		yield codes
			.filter((code) => code < PLANES * PLANE)
			.map((code) => inContext(String.fromCodePoint(code)))
			.join(" ");
	}
}

/** Alone, within a word, before a mark, and around a sigma, whose lower case depends on it. */
function inContext(c) {
	return `${c} a${c}b ${c}\u0301 a\u03a3${c} a\u03a3${c}b ${c}\u03a3`;
}

/** Yields lines of a megabyte: one piece over and over, sometimes after other words. */
export function* longLines(seed, count) {
	const draw = draws(seed);
	const pieces = fc.sample(lines, { numRuns: count, seed });
	const filler = [" ", "a", ",", "\u4e2d", "\u0301 ", "[SEP", "\u{1f980}", "\u03a3"];
	for (const [index, generated] of pieces.entries()) {
		const piece = index < filler.length ? filler[index] : `${generated}x`;
		const start = draw.of(["", words(400, draw.below(1e9)), "x".repeat(99)]);
		yield (start + piece.repeat(MEGABYTE / piece.length)).slice(0, MEGABYTE);
	}
}
