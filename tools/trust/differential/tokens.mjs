/** Tokens of the engine against those of transformers.js. Runs in a process of its own. */
import { engineTokens } from "../../../__test__/support/tokens.mjs";
import { tokenIds } from "../../../benchmark/dist/typescript/oracle.js";
import { codePointTexts, generatedTexts, longLines } from "./texts.mjs";
import { comparable, UNICODE } from "./unicode.mjs";

/** Texts for one run of the tokenizer; long ones are fewer, to be gentle on memory. */
const AT_ONCE = 4000;
const LINES_AT_ONCE = 16;

/** Compares the tokens of all kinds of texts; a failure names the text. */
export async function check(_, { short, seed }, log) {
	const counts = {};
	const kinds = [
		["generated", generatedTexts(seed, short ? 4000 : 50_000), AT_ONCE],
		["codePoints", codePointTexts(seed, short ? 0.04 : 1), AT_ONCE],
		["lines", longLines(seed, short ? 3 : 48), LINES_AT_ONCE],
	];
	for (const [kind, texts, atOnce] of kinds) {
		counts[kind] = 0;
		for (const some of slices(texts, atOnce)) {
			const found = engineTokens(some);
			for (const [index, text] of some.entries())
				compare(
					found[index],
					await tokenIds(text),
					`seed ${seed}, ${kind} ${counts[kind] + index}: ${told(text)}`,
				);
			counts[kind] += some.length;
			log(`tokens: ${counts[kind]} texts, ${kind}`);
		}
	}
	return counts;
}

function* slices(texts, length) {
	let slice = [];
	for (const text of texts) {
		slice.push(comparable(text));
		if (slice.length === length) {
			yield slice;
			slice = [];
		}
	}
	if (slice.length > 0) yield slice;
}

function compare(found, expected, what) {
	const at = Array.from(
		{ length: Math.max(found.length, expected.length) },
		(_, index) => found[index] === expected[index],
	).indexOf(false);
	if (at < 0) return;
	throw new Error(
		`token ${at} is ${found[at]} for the engine and ${expected[at]} for the oracle, ` +
			`of ${found.length} and ${expected.length} (Unicode ${process.versions.unicode} in Node.js, ` +
			`${UNICODE}.0 in the engine): ${what}`,
	);
}

/** A text that can be pasted into a program; of a long one the beginning. */
function told(text) {
	const start = JSON.stringify(text.slice(0, 2000));
	return text.length > 2000 ? `${start} … ${text.length} code units` : start;
}
