/**
 * Loads of a long-lived process, and measurement of growth. `make(scoring)` returns a function that repeats a
 * load `count` times, from number `from`. `count` is the number of repetitions in a short run, after `warmUp` others;
 * `mostGrowth` replaces the common limit, in bytes.
 */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { importTraces } from "@knowledgepulse/scoring/logs";
import { readLogs, written } from "../support/logs.mjs";
import { modelCopy } from "../support/model-folder.mjs";
import { random, says, trace, words } from "../support/traces.mjs";
import { ended, startWorker } from "../support/workers.mjs";

const OFF = { KNOWLEDGEPULSE_SCORING_EMBEDDER: "off" };

/** Calls in flight, as in a busy service. */
const IN_FLIGHT = 64;

const text = (i) => says(`ticket ${i}: the ${i % 7} harbour and copper ${i * 31}`);

export const plain = (i) =>
	trace({
		objective: `task ${i}`,
		confidence: (i % 1000) / 1000,
		success: i % 3 > 0,
		steps: Array.from({ length: 1 + (i % 6) }, (_, step_id) => ({
			step_id,
			type: ["thought", "tool_call", "observation"][step_id % 3],
			content: `step ${i}`,
			tool: { name: `tool ${step_id}` },
		})),
	});

/** Returns a function that makes `call(i)` for each number, {@link IN_FLIGHT} at a time. */
const inFlight = (call) => async (from, count) => {
	for (let i = 0; i < count; i += IN_FLIGHT) {
		const width = Math.min(IN_FLIGHT, count - i);
		await Promise.all(Array.from({ length: width }, (_, k) => call(from + i + k)));
	}
};

/**
 * Returns a function that calls `thing(i)` for each number, each in a separate turn of the event loop so that
 * finalisers run.
 */
export const inTurn = (thing) => async (from, count) => {
	for (let i = from; i < from + count; i++) {
		await thing(i);
		await turn();
	}
};

const scores = (scoring, make) => {
	const { evaluateValue, explainValue } = scoring;
	const peek = (trace) => evaluateValue(trace, { remember: false });
	const calls = [evaluateValue, explainValue, evaluateValue, peek];
	return inFlight((i) => calls[i % calls.length](make(i)));
};

const withEmbedder = (backend, precision) => ({
	count: 200,
	// Until the memo of texts and the cache are full.
	warmUp: 1_200,
	env: { KNOWLEDGEPULSE_SCORING_BACKEND: backend, KNOWLEDGEPULSE_SCORING_PRECISION: precision },
	make: (scoring) => scores(scoring, (i) => says(`ticket ${i}`)),
});

/** Invalid traces, each in another way. */
const INVALID = [
	() => undefined,
	(i) => i,
	() => ({}),
	(i) => ({ ...plain(i), metadata: null }),
	(i) => ({ ...plain(i), steps: i }),
	(i) => trace({ objective: i }),
	(i) => trace({ confidence: i + 2 }),
	(i) => trace({ steps: [{ type: i }] }),
	(i) => trace({ steps: [{ type: "thought", content: [i] }] }),
	(i) => ({
		...plain(i),
		get outcome() {
			throw new Error(`thrown by ${i}`);
		},
	}),
];

/** Returns random vectors. */
const vectors = (count) => {
	const next = random(count);
	return Array.from({ length: count }, () => Float32Array.from({ length: 384 }, next));
};

/** Logs of all formats. */
const LOGS = readLogs([written])
	.flatMap(({ paths }) => paths)
	.filter((path) => !path.includes("facts"));

/** A folder that is removed when the process ends. */
export function ownFolder() {
	const folder = mkdtempSync(join(tmpdir(), "scoring leaks "));
	process.once("exit", () => rmSync(folder, { recursive: true }));
	return folder;
}

export const LOADS = {
	"logs imported and scored": {
		count: 20,
		env: OFF,
		make: ({ Scorer }) => {
			const scorer = new Scorer();
			const options = { assumeSuccess: true, errors: "collect" };
			return inTurn(async () => {
				const traces = [];
				for await (const { trace } of importTraces(LOGS, options)) if (trace) traces.push(trace);
				for await (const row of scorer.evaluateLogs(LOGS, options)) assert.ok(row);
				await scorer.select(traces, { count: 5 });
			});
		},
	},
	"scores without the embedder": {
		count: 50_000,
		env: OFF,
		make: (scoring) => scores(scoring, plain),
	},
	"scores with the embedder, exact": withEmbedder("onnx", "exact"),
	"scores with the embedder, fast": withEmbedder("native", "fast"),
	"scores with the embedder, native": withEmbedder("native", "exact"),
	"scores of long texts, fast": {
		count: 60,
		warmUp: 40,
		// What glibc does not use again adds up soonest in one arena, to which containers often limit it.
		env: { KNOWLEDGEPULSE_SCORING_PRECISION: "fast", MALLOC_ARENA_MAX: "1" },
		make: ({ evaluateValue }) =>
			inTurn((i) => evaluateValue(says(words(300 + ((37 * i) % 210), i)))),
	},
	"scores of texts that were there before": {
		count: 20_000,
		env: { KNOWLEDGEPULSE_SCORING_PRECISION: "fast" },
		make: (scoring) => scores(scoring, (i) => says(`ticket ${i % 100}`)),
	},
	"rejected calls": {
		count: 50_000,
		env: OFF,
		make: ({ evaluateValue }) =>
			inFlight((i) => assert.rejects(evaluateValue(INVALID[i % INVALID.length](i)))),
	},
	"aborted calls": {
		// It varies by 2 to 5 MB for any number of them.
		mostGrowth: 8 * 2 ** 20,
		count: 15_000,
		warmUp: 15_000,
		env: {},
		make:
			({ evaluateValue }) =>
			async (from, count) => {
				for (let i = from; i < from + count; i += IN_FLIGHT) {
					const controller = new AbortController();
					const { signal } = controller;
					const calls = Array.from({ length: IN_FLIGHT }, (_, k) =>
						evaluateValue(text(i + k), { signal }),
					);
					const settled = Promise.allSettled(calls);
					// At once, in the next turn, and in the middle of the first text.
					if (i % 3 === 1) await turn();
					if (i % 3 === 2) await new Promise((resolve) => setTimeout(resolve, 1));
					controller.abort();
					await settled;
				}
			},
	},
	"calls with a budget of an hour": {
		count: 8_000,
		env: OFF,
		make: ({ Scorer }) => {
			const scorer = new Scorer({ budgetMs: 3_600_000 });
			return inFlight((i) => scorer.evaluateValue(plain(i)));
		},
	},
	"calls over their budget": {
		count: 5_000,
		env: {},
		make: ({ Scorer }) => {
			const scorer = new Scorer({ budgetMs: 1 });
			return inFlight((i) => scorer.evaluateValue(text(i)));
		},
	},
	"scorers made and dropped": {
		count: 1_000,
		env: OFF,
		make: ({ Scorer }) =>
			inTurn(async (i) => {
				const scorer = new Scorer({ cache: { maxElements: 1 + (i % 100) } });
				await Promise.all([1, 2, 3].map((k) => scorer.evaluateValue(plain(k))));
				scorer.cache.add(new Float32Array(384).fill(i));
				if (i % 2) scorer.close();
			}),
	},
	"snapshots taken and restored": {
		count: 200,
		env: OFF,
		make: ({ Scorer }) => {
			let scorer = new Scorer();
			for (const vector of vectors(50)) scorer.cache.add(vector);
			return inTurn(async () => {
				scorer = await Scorer.restore(await scorer.snapshot());
			});
		},
	},
	"vector caches made and dropped": {
		count: 1_000,
		env: OFF,
		make: ({ VectorCache }) => {
			const some = vectors(50);
			return inTurn(() => {
				const cache = new VectorCache({ ttlMs: 1_000 });
				for (const vector of some) cache.add(vector);
				cache.maxCosineSimilarity(some[7]);
			});
		},
	},
	"models that are missing": {
		count: 1_000,
		env: {},
		make: ({ Scorer }) =>
			inTurn((i) => {
				const model = join(tmpdir(), `nowhere ${i}`);
				return new Scorer({ model }).evaluateValue(plain(i));
			}),
	},
	"models loaded and dropped": {
		count: 8,
		warmUp: 4,
		// The allocator may keep the memory of one model for each thread that loads; twenty take 450 MB.
		mostGrowth: 128 * 2 ** 20,
		env: {},
		make: ({ Scorer }) => {
			const folder = ownFolder();
			return inTurn(async (i) => {
				const place = mkdtempSync(join(folder, `${i}-`));
				// A folder of another name is another model, which shares nothing with the others.
				const model = modelCopy(place);
				const backend = i % 2 ? "native" : "onnx";
				await new Scorer({ model, backend }).evaluateValue(text(i));
				gc();
			});
		},
	},
	"workers made and ended": {
		count: 10,
		warmUp: 5,
		env: {},
		make: () =>
			inTurn(async (i) => {
				const worker = startWorker([text(i), plain(i)], "scores");
				const { code, message } = await ended(worker);
				if (code !== 0) throw new Error(`a worker ended with ${code}: ${message}`);
			}),
	},
};

/**
 * Returns the resident memory without pages of mapped files: new words load more pages of the model, up to the
 * size of the file.
 */
function ownBytes() {
	if (process.platform !== "linux") return process.memoryUsage.rss();
	const status = readFileSync("/proc/self/status", "latin1");
	return Number(/^RssAnon:\s*(\d+) kB/m.exec(status)[1]) * 1024;
}

/** Unreachable values are finalised after one or two turns. */
export async function sample() {
	for (let i = 0; i < 3; i++) {
		gc();
		await turn();
	}
	return { own: ownBytes(), resident: process.memoryUsage.rss() };
}

/** Does a load `warmUp` times, then `count` times; returns `samples` samples of the memory. */
export async function measure(scoring, { name, warmUp, count, samples }) {
	process.emitWarning = () => {};
	const load = LOADS[name].make(scoring);
	await load(0, warmUp);
	const points = [{ done: 0, ...(await sample()) }];
	const part = Math.ceil(count / samples);
	for (let done = 0; done < count; ) {
		const next = Math.min(part, count - done);
		await load(warmUp + done, next);
		done += next;
		points.push({ done, ...(await sample()) });
	}
	return points;
}

/** Does what leaves behind 5 to 30 MB each time; returns the peak of the memory in MB. Nothing asks for a collection. */
export async function peakOf({ Scorer, VectorCache }, what) {
	const [vector] = vectors(1);
	const filled = (cache) => {
		for (let i = 0; i < 20_000; i++) cache.add(vector);
	};
	const cache = { maxElements: 20_000 };
	const scorer = new Scorer({ cache });
	filled(scorer.cache);
	const bytes = await scorer.snapshot();
	scorer.close();
	const messages = [
		{ role: "user", content: "x".repeat(100_000) },
		{ role: "assistant", content: "Done." },
	];
	const data = Buffer.from(JSON.stringify(Array(50).fill({ messages }), undefined, 1));
	const times = {
		"scorers that are restored": () => Scorer.restore(bytes),
		"scorers that are closed": async () => (await Scorer.restore(bytes)).close(),
		"caches of vectors": () => filled(new VectorCache(cache)),
		"logs that are half read": () =>
			importTraces({ name: "log", data }, { assumeSuccess: true }).next(),
		"caches of scorers": () => filled(new Scorer({ cache }).cache),
	};
	await inTurn(times[what])(0, 87);
	return process.resourceUsage().maxRSS / 1024;
}

/** Fits a line through pairs of numbers; returns its slope and the standard error of the slope. */
export function fit(pairs) {
	const mean = (i) => pairs.reduce((sum, pair) => sum + pair[i], 0) / pairs.length;
	const [x0, y0] = [mean(0), mean(1)];
	const sum = (term) => pairs.reduce((all, [x, y]) => all + term(x - x0, y - y0), 0);
	const spread = sum((x) => x * x);
	const slope = sum((x, y) => x * y) / spread;
	const rest = sum((x, y) => (y - slope * x) ** 2);
	return { slope, error: Math.sqrt(rest / (pairs.length - 2) / spread) };
}
