/** Generated texts for tokenizers. */

import fc from "fast-check";

/** Special tokens and their parts, letters that are normalised or lowercased, scripts, emoji, and odd characters. */
const ODD = [
	"[SEP] [CLS] [MASK] [UNK] [PAD] [ ] [SE [sep]",
	"Σ ΑΣ ΟΔΟΣ. Σ'Α İ ß ﬁ é e\u0301 ≠ \u1fef",
	"中文 㐀 𠀀 豈 중국 きょう क्षि ไทย עִברִית عَرَبِيّ",
	"🦀 👩‍🔬 🇪🇺 1️⃣",
	"\u200b \u0000 \u00ad \ufeff \ufffd … 。 \u2028 \u0085 \u00a0 \u3000 ª ² Ⅷ ǅ",
].flatMap((line) => line.split(" "));

/** Pieces that tokenizers are likely to treat differently. */
const pieces = fc.oneof(
	{ weight: 6, arbitrary: fc.stringMatching(/^[a-zA-Z]{1,12}$/) },
	{ weight: 3, arbitrary: fc.constantFrom(" ", "  ", "\n", "\t", "\r\n") },
	{ weight: 3, arbitrary: fc.string({ maxLength: 8 }) },
	{ weight: 3, arbitrary: fc.string({ unit: "grapheme", maxLength: 8 }) },
	{ weight: 3, arbitrary: fc.string({ unit: "binary", maxLength: 8 }) },
	{ weight: 2, arbitrary: fc.constantFrom(...ODD) },
	{
		weight: 1,
		arbitrary: fc.integer({ min: 90, max: 300 }).map((length) => "a".repeat(length)),
	},
);
/** Texts of many such pieces. */
export const anyText = fc
	.tuple(fc.array(pieces, { maxLength: 60 }), fc.integer({ min: 1, max: 20 }))
	.map(([parts, times]) => parts.join("").repeat(times));

/** The version of Unicode in the engine, from the crates in Cargo.toml. */
const UNICODE = 17;

/**
 * Removes the characters missing in an older Unicode of Node.js, which the engine may treat differently: 89
 * marks and punctuation marks with Unicode 15, none with 17.
 */
export function comparable(text) {
	const node = Number.parseFloat(process.versions.unicode);
	return node >= UNICODE ? text : text.replace(/\p{Cn}/gu, "");
}
