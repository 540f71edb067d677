/** The traces of each case, and the amounts to measure. */

import { read, recorded } from "../__test__/support/trace-files.mjs";
import { generateLongTrace, generateText, generateTrace, mark } from "./generate.mjs";

/** The recorded runs, each in a file of its own. */
export const FILES = ["airline", "software"];

/** The case that is scored before a full cache. */
export const FULL_CACHE_CASE = "20 tokens, full cache";

/** The case that replaces absent recorded runs. */
export const FALLBACK_CASE = "512 tokens";

/** The trace that is scored again and again. */
export const AGAIN_CASE = "same text again";

export const LONG_CASE = "10 MB text";

/** More words than the window takes: the model sees 512 tokens. */
const LONG = { words: 540, steps: 20 };
const SHORT = { words: 18, steps: 5 };

/** The model adds a token before the words and one after them. */
const GENERATED = {
	"512 tokens": LONG,
	"256 tokens": { words: 254, steps: 15 },
	"128 tokens": { words: 126, steps: 10 },
	"64 tokens": { words: 62, steps: 8 },
	"32 tokens": { words: 30, steps: 5 },
	"20 tokens": SHORT,
	"16 tokens": { words: 14, steps: 5 },
	"8 tokens": { words: 6, steps: 5 },
	[FULL_CACHE_CASE]: SHORT,
	[AGAIN_CASE]: LONG,
};

/** Further apart than any case has traces. */
const SEEDS_OF_A_CASE = 1_000_000;

const LONG_BYTES = 10_000_000;
const FILE_LENGTH = 100;

const fileNameOf = (name) => `${name}.jsonl`;

/** Whether a case can be measured here; the recorded runs may be absent. */
export function isAvailable(name) {
	return !FILES.includes(name) || recorded.includes(fileNameOf(name));
}

/** The traces of a case. The recorded runs are repeated with other words before them. */
export function sourceOf(name) {
	if (name === LONG_CASE) {
		const content = generateText(LONG_BYTES);
		return (number) => generateLongTrace(number, content);
	}
	const size = GENERATED[name];
	if (size !== undefined) {
		const first = Object.keys(GENERATED).indexOf(name) * SEEDS_OF_A_CASE;
		return (number) => generateTrace(first + number, size);
	}
	const traces = fileOf(name);
	return (number) => mark(traces[number % traces.length], number);
}

/** Consecutive traces of a source. */
export function take(source, first, count) {
	return Array.from({ length: count }, (_, index) => source(first + index));
}

/** Returns the traces that a fresh process scores in order: the recorded runs, unchanged. */
export function fileOf(name) {
	if (GENERATED[name]) return take(sourceOf(name), 0, FILE_LENGTH);
	return read(fileNameOf(name)).traces;
}

/** The scores of the SDK by trace id; undefined for generated traces. */
export function goldenScores(name) {
	if (GENERATED[name]) return undefined;
	return new Map(read(fileNameOf(name)).golden.map(({ id, score }) => [id, score]));
}

const WARM_UP = 4;

/** More cases for the curve of time against length. */
function curve(tokens, alone) {
	const plan = { warmUp: WARM_UP, alone, together: 0, batch: alone / 3 };
	return Object.fromEntries(tokens.map((count) => [`${count} tokens`, plan]));
}

/** About six minutes on two cores. */
export const FULL = {
	firstScores: 7,
	warmUps: 3,
	cases: {
		airline: { warmUp: WARM_UP, alone: 100, together: 96, batch: 10 },
		software: { warmUp: WARM_UP, alone: 36, together: 48, batch: 9 },
		"512 tokens": { warmUp: WARM_UP, alone: 100, together: 48, batch: 10 },
		"128 tokens": { warmUp: WARM_UP, alone: 100, together: 96, batch: 25 },
		"20 tokens": { warmUp: WARM_UP, alone: 300, together: 288, batch: 100 },
		[FULL_CACHE_CASE]: { warmUp: WARM_UP, alone: 300, together: 288, batch: 100 },
		...curve([8, 16, 32, 64], 150),
		...curve([256], 60),
		[LONG_CASE]: { warmUp: 1, alone: 5, together: 0, batch: 1 },
	},
	memo: { rounds: 5, again: 10 },
	fileRuns: [
		{ inFlight: 1, repetitions: 1, metric: "memory" },
		{ inFlight: 8, repetitions: 1, metric: "memory" },
		{ inFlight: 16, repetitions: 3, metric: "delay" },
	],
	caches: [
		{ vectors: 1000, searches: 1000 },
		{ vectors: 10_000, searches: 100 },
		{ vectors: 100_000, searches: 30 },
		{ vectors: 1_000_000, searches: 10 },
	],
};

/** About a minute and a half. */
export const QUICK = {
	firstScores: 2,
	warmUps: 1,
	cases: {
		airline: { warmUp: WARM_UP, alone: 16, together: 16, batch: 8 },
		"512 tokens": { warmUp: WARM_UP, alone: 16, together: 16, batch: 8 },
		"128 tokens": { warmUp: WARM_UP, alone: 20, together: 32, batch: 20 },
		"20 tokens": { warmUp: WARM_UP, alone: 50, together: 48, batch: 50 },
		[FULL_CACHE_CASE]: { warmUp: WARM_UP, alone: 50, together: 48, batch: 50 },
		...curve([8, 64], 30),
		[LONG_CASE]: { warmUp: 0, alone: 1, together: 0, batch: 1 },
	},
	memo: { rounds: 1, again: 8 },
	fileRuns: [{ inFlight: 16, repetitions: 1, metric: "delay" }],
	caches: [
		{ vectors: 1000, searches: 200 },
		{ vectors: 100_000, searches: 10 },
	],
};
