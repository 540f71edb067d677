import { FULL_CACHE_CASE, LONG_CASE } from "./cases.mjs";

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
	bare: { rounds: 10, traces: 1000 },
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
	bare: { rounds: 3, traces: 1000 },
	caches: [
		{ vectors: 1000, searches: 200 },
		{ vectors: 100_000, searches: 10 },
	],
};
