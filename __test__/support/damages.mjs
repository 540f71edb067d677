/** Ways to damage the files of a model, or any others. */

import { execFileSync } from "node:child_process";
import {
	appendFileSync,
	closeSync,
	mkdirSync,
	openSync,
	readFileSync,
	rmSync,
	statSync,
	symlinkSync,
	truncateSync,
	writeFileSync,
	writeSync,
} from "node:fs";

/** Replaces a part of a file. */
function overwrite(file, at, bytes) {
	const descriptor = openSync(file, "r+");
	writeSync(descriptor, bytes, 0, bytes.length, at);
	closeSync(descriptor);
}

/** Flips a bit of the byte at `at`. */
function flip(file, at, bit = 0) {
	overwrite(file, at, Buffer.of(readFileSync(file)[at] ^ (1 << bit)));
}

/** Truncates a file or flips a bit at a random place; returns a description. */
export function damageAnywhere(file, { below }) {
	const { size } = statSync(file);
	const [at, bit] = [below(size), below(16)];
	if (bit < 8) flip(file, at, bit);
	else truncateSync(file, at);
	return bit < 8 ? `bit ${bit} of byte ${at} flipped` : `cut at ${at}`;
}

const NOISE = Buffer.from("\xff\x80\x7f\x00".repeat(8), "latin1");

/** The same damage at several shares of the length of a file. */
const damagesAt = (name, shares, damage) =>
	Object.fromEntries(
		shares.map((share) => [
			`${name} at ${share}`,
			(file) => damage(file, Math.floor(statSync(file).size * share)),
		]),
	);

const VOCABULARY_PARTS = [0, 0.00001, 0.1, 0.4, 0.8, 0.999999];

/** Ways to damage any file. */
export const damages = {
	missing: (file) => rmSync(file),
	empty: (file) => writeFileSync(file, ""),
	longer: (file) => appendFileSync(file, "\n"),
	"one other bit": (file) => flip(file, Math.floor(statSync(file).size * 0.6), 0),
	text: (file) => writeFileSync(file, "not what is expected here\n"),
	"a list": (file) => writeFileSync(file, "[1, 2, 3]"),
	"deeply nested": (file) => writeFileSync(file, "[".repeat(100_000)),
	"a pipe": (file) => {
		rmSync(file);
		execFileSync("mkfifo", [file]);
	},
	"without end": (file) => {
		rmSync(file);
		symlinkSync("/dev/zero", file);
	},
	"a folder": (file) => {
		rmSync(file);
		mkdirSync(file);
	},
	"a link to nothing": (file) => {
		rmSync(file);
		symlinkSync("nowhere", file);
	},
	"a link to itself": (file) => {
		rmSync(file);
		symlinkSync(file, file);
	},
	// Of a vocabulary: the number of words, the longest, where words begin, the hash table, the text and its end.
	...damagesAt("one other bit", VOCABULARY_PARTS, flip),
	...damagesAt("cut", [0.1, 0.5, 0.9, 0.999], truncateSync),
	...damagesAt("zeros", [0.02, 0.3, 0.7], (file, at) => overwrite(file, at, Buffer.alloc(64))),
	...damagesAt("noise", [0.01, 0.4, 0.8], (file, at) => overwrite(file, at, NOISE)),
};

/** Changes a JSON file. */
export function edit(file, change) {
	const value = JSON.parse(readFileSync(file, "utf8"));
	writeFileSync(file, JSON.stringify(change(value) ?? value));
}
