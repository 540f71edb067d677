import assert from "node:assert/strict";
import { test } from "node:test";
import { _getLocalCache, explainValue } from "@knowledgepulse/scoring";
import { says, trace, words } from "../support/traces.mjs";

/** The length of the long texts, in UTF-16 code units. */
const LONG = 10_000_000;

/** A length that the text buffer keeps of any text. */
const KEPT = 600_000;

/** `text` over and over, `length` code units of it. */
const fill = (text, length = LONG) => text.repeat(Math.ceil(length / text.length)).slice(0, length);

/** The similarity of two traces, in [-1, 1]. */
async function similarity(one, other) {
	_getLocalCache().clear();
	await explainValue(one);
	return (await explainValue(other)).novelty.maxSimilarity;
}

const prose = words(4000, 7);

const proseFromElsewhere = words(4000, 8);

const chinese = "天地玄黃宇宙洪荒日月盈昃辰宿列張寒來暑往秋收冬藏";

const emoji = "😀🚀🧪👩‍🔬🇳🇴";

/**
 * A long text, another text with the same window of 512 tokens, and one with another window.
 */
const rows = {
	words: [fill(`${prose} `), prose, proseFromElsewhere],
	"words of one letter": [fill("a b c "), fill("a b c ", 3000), fill("c b a ", 3000)],
	"words with accents and capitals": [
		fill(`${prose.replaceAll("e", "É")} `),
		prose,
		proseFromElsewhere,
	],
	"one endless word": [fill("endless"), "x".repeat(101), "endless"],
	"one endless word with an accent": [fill("éndless"), "[UNK]", "endless"],
	"an endless word, and what comes after it": [
		`${fill("z", KEPT)} ${prose}`,
		`[UNK] ${prose}`,
		`[UNK] ${proseFromElsewhere}`,
	],
	"an endless word of accents on one letter": [
		`a${fill("\u0301", KEPT)} ${prose}`,
		`a ${prose}`,
		`a ${proseFromElsewhere}`,
	],
	"only spaces": [fill(" "), "", "space"],
	"only blanks of all kinds": [fill(" \t\r\n\u00a0\u2003\u3000"), "", "space"],
	"spaces, and what comes after them": [fill(" ", KEPT) + prose, prose, proseFromElsewhere],
	"only control characters": [fill("\0\u0007\u200d\ufeff"), "", "control"],
	"control characters, and what comes after them": [
		fill("\0\u200b", KEPT) + prose,
		prose,
		proseFromElsewhere,
	],
	"control characters inside a word": [
		`${fill("\0", KEPT)}window${fill("\0", KEPT)}s ${prose}`,
		`windows ${prose}`,
		`window s ${prose}`,
	],
	"only punctuation": [fill("?!"), fill("?!", 600), fill("?;", 600)],
	"one punctuation mark": [fill("-"), fill("- ", 2000), fill(". ", 2000)],
	"opening brackets": [fill("["), fill("[ ", 2000), fill("] ", 2000)],
	"special tokens": [fill("[SEP][MASK]"), fill("[SEP] [MASK] ", 8000), fill("[MASK] [SEP] ", 8000)],
	Chinese: [
		fill(chinese),
		fill([...chinese].join(" "), 3000),
		fill([...chinese].reverse().join(""), 3000),
	],
	emoji: [fill(`${emoji} `), fill(`${emoji}   `, 50_000), "a row of faces"],
	"an endless row of emoji": [fill(emoji), "[UNK]", "endless"],
	"lone surrogates": [fill("\ud83d"), "", "surrogate"],
	"pairs the wrong way round": [fill("\ude00\ud83d "), "", "surrogate"],
};

for (const [name, [long, same, different]] of Object.entries(rows)) {
	test(`evaluateValue reads the window of ${long.length.toLocaleString("en")} characters: ${name}`, async () => {
		const alike = await similarity(says(same), says(long));
		assert.ok(alike > 0.9999, `${name}: similarity ${alike} to the same text`);
		const unlike = await similarity(says(different), says(same));
		assert.ok(unlike < 0.9999, `${name}: similarity ${unlike} to another text`);
	});
}

test("evaluateValue reads the window of very many steps", async () => {
	const contents = prose.split(" ");
	const steps = Array.from({ length: 100_000 }, (_, i) => ({
		type: "thought",
		content: contents[i % contents.length],
	}));
	const alike = await similarity(trace({ objective: "", steps }), says(`${prose} ${prose}`));
	assert.ok(alike > 0.9999, String(alike));
});

test("evaluateValue reads a string that was concatenated from many", async () => {
	// V8 stores such a string as a tree.
	let rope = "";
	for (const word of prose.split(" ")) rope += `${word} `;
	while (rope.length < LONG) rope += rope;
	const alike = await similarity(says(prose), says(rope));
	assert.ok(alike > 0.9999, String(alike));
});

test("evaluateValue ends the window at the same place, however a text is divided into steps", async () => {
	// Steps of every length around the sizes of the buffers that strings are read into.
	for (const border of [2048, 8192]) {
		for (let length = border - 12; length <= border + 6; length++) {
			for (const filler of [" ", "\u3000", "\0"]) {
				const padding = filler.repeat(length / Buffer.byteLength(filler));
				const steps = [`${padding}é漢😀 one`, "two"].map((content) => ({
					type: "observation",
					content,
				}));
				const alike = await similarity(says("é漢😀 one two"), trace({ objective: "", steps }));
				assert.ok(alike > 0.9999, `${length} bytes of ${JSON.stringify(filler)}: ${alike}`);
			}
		}
	}
});
