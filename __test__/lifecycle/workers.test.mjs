import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { run, valueFrom } from "../support/child.mjs";
import { isLongRun, repeats } from "../support/draws.mjs";
import { says, words } from "../support/traces.mjs";

/** Rounds of each test. */
const ROUNDS = repeats(1);

/** Workers that load the package at the same time. */
const WORKERS = isLongRun ? 50 : 4;

const texts = (count) => Array.from({ length: count }, (_, i) => says(words(i % 3 ? 150 : 3, i)));

test("evaluateValue has a cache for each worker", async () => {
	const results = await valueFrom(
		async ({ scoring, input }) => {
			const { ended, startWorker } = await import("./support/workers.mjs");
			const { traces, workers: length } = input;
			const workers = Array.from({ length }, () => ended(startWorker(traces, "scores")));
			const here = await Promise.all(traces.map((trace) => scoring.evaluateValue(trace)));
			return { here, workers: await Promise.all(workers), cacheSize: scoring.status().cacheSize };
		},
		{ input: { traces: texts(6), workers: WORKERS } },
	);
	assert.equal(results.cacheSize, 6);
	assert.equal(new Set(results.here).size, 6, "the texts are different");
	for (const { code, told } of results.workers) {
		assert.equal(code, 0);
		assert.deepEqual(told.at(-1).scores, results.here);
	}
});

test("Scorer shares one model among four workers", async () => {
	/** The memory of a process with four workers, of which `scoring` score. */
	const memory = (scoring) =>
		valueFrom(
			async ({ input }) => {
				const { once } = await import("node:events");
				const { Worker } = await import("node:worker_threads");
				// Lives until a message comes.
				const code = `const { parentPort, workerData } = require("node:worker_threads");
parentPort.once("message", () => {});
(async () => {
	if (workerData.length > 0)
		await new (require("@knowledgepulse/scoring").Scorer)().evaluateValues(workerData);
	parentPort.postMessage("done");
})();`;
				const workers = Array.from({ length: 4 }, (_, index) => {
					const workerData = index < input.scoring ? input.traces : [];
					return new Worker(code, { eval: true, workerData, execArgv: [] });
				});
				await Promise.all(workers.map((worker) => once(worker, "message")));
				const { rss } = process.memoryUsage();
				for (const worker of workers) worker.postMessage("end");
				const exits = workers.map((worker) => once(worker, "exit"));
				return { rss, codes: (await Promise.all(exits)).flat() };
			},
			{ preload: false, input: { scoring, traces: texts(3) } },
		);
	const [none, one, four] = [await memory(0), await memory(1), await memory(4)];
	assert.deepEqual(four.codes, [0, 0, 0, 0]);
	assert.ok(one.rss > none.rss * 1.1, "one loads a model");
	assert.ok(four.rss < one.rss * 1.1, `${four.rss} bytes, of one ${one.rss}`);
});

describe("the end of a worker", { concurrency: 2 }, () => {
	/**
	 * Terminates workers, many at a time, some time after `input.moment`, while the main thread scores.
	 * Returns how they ended, and the scores of the main thread with those of a scorer alone.
	 */
	const terminateWorkers = async ({ scoring, input }) => {
		const { setTimeout: sleep } = await import("node:timers/promises");
		const { ended, startWorker, tells } = await import("./support/workers.mjs");
		const { scoreInFlight } = await import("./support/scores.mjs");
		const endings = [];
		const terminate = async (delay) => {
			// Only this worker uses the model, so it is loaded for the worker and freed with it.
			const options = input.moment === "called" ? { threads: 1, precision: "fast" } : undefined;
			const worker = startWorker(input.traces, "return", options);
			const ending = ended(worker);
			if (input.moment !== "started") await tells(worker, input.moment);
			await sleep(delay);
			await worker.terminate();
			endings.push(await ending);
		};
		const traces = input.traces.slice(0, 6);
		const scores = scoreInFlight(new scoring.Scorer(), traces, 2);
		for (let round = 0; round < input.rounds; round++)
			await Promise.all(
				Array.from({ length: input.workers }, (_, index) =>
					terminate(round * input.delay + 5 * (index % 4)),
				),
			);
		const alone = await scoreInFlight(new scoring.Scorer(), traces, 1);
		return { endings, scores: await scores, alone, pending: scoring.status().pending };
	};

	const moments = [
		["started", 25],
		["imported", 0],
		["called", 40],
		["scored", 30],
	];

	for (const [moment, delay] of moments) {
		test(`worker.terminate() ends a worker that has ${moment}, ${delay} ms later each time`, async () => {
			const input = { traces: texts(30), moment, delay, rounds: ROUNDS, workers: WORKERS };
			const found = await valueFrom(terminateWorkers, { input });
			assert.equal(found.endings.length, WORKERS * ROUNDS);
			for (const { message } of found.endings) assert.equal(message, undefined);
			assert.deepEqual(found.scores, found.alone);
			assert.equal(found.pending, 0);
		});
	}

	const endings = [
		["by its own process.exit()", "exit", 4, undefined],
		["by its own process.exit() after a score", "exit after a score", 4, undefined],
		["by an error of its own", "throw", 1, "thrown on purpose"],
		["by itself, when its promises have settled", "return", 0, undefined],
	];

	for (const [name, ending, code, message] of endings) {
		test(`a worker can end ${name}`, async () => {
			const found = await valueFrom(
				async ({ scoring, input }) => {
					const { ended, startWorker } = await import("./support/workers.mjs");
					const worker = ended(startWorker(input.traces, input.ending));
					const here = scoring.evaluateValue(input.traces[0]);
					return { ...(await worker), here: await here };
				},
				{ input: { traces: texts(20), ending } },
			);
			assert.deepEqual([found.code, found.message], [code, message]);
			if (code === 0) assert.deepEqual(found.told, ["imported", "called", "scored"]);
			assert.ok(found.here > 0 && found.here < 1, String(found.here));
		});
	}
});

describe("the end of a process with workers", { concurrency: 2 }, () => {
	/** Fails unless the process has ended by `process.exit(9)` or the signal, and printed nothing. */
	function assertEndedBy(way, { code, signal, stdout, stderr }, message) {
		const expected = way === "exit" ? { code: 9, signal: null } : { code: null, signal: way };
		assert.deepEqual(
			{ code, signal, stdout, stderr },
			{ ...expected, stdout: "", stderr: "" },
			message,
		);
	}

	for (const moment of ["imported", "called", "scored"]) {
		for (const way of ["exit", "SIGTERM"]) {
			test(`${way} ends a process whose worker alone has loaded the addon, and has ${moment}`, async () => {
				for (let round = 0; round < ROUNDS; round++) {
					const ended = await run(
						async ({ input, send }) => {
							const { startWorker, tells } = await import("./support/workers.mjs");
							await tells(startWorker(input.traces, "return"), input.moment);
							setTimeout(() => (input.way === "exit" ? process.exit(9) : send("now")), input.delay);
						},
						{
							input: { traces: texts(30), moment, way, delay: round * 15 },
							preload: false,
							onValue: (_, child) => child.kill(way),
						},
					);
					assertEndedBy(way, ended, `round ${round}`);
				}
			});
		}
	}

	test("process.exit() ends many workers and the main thread while they score", async () => {
		for (let round = 0; round < ROUNDS; round++) {
			const ended = await run(
				async ({ scoring, input, send }) => {
					const { startWorker, tells } = await import("./support/workers.mjs");
					const { workers: length } = input;
					const workers = Array.from({ length }, () => startWorker(input.traces, "return"));
					for (const trace of input.traces) scoring.evaluateValue(trace);
					await Promise.all(
						workers.slice(0, 1 + input.round).map((worker) => tells(worker, "scored")),
					);
					send("exit");
					process.exit(9);
				},
				{ input: { traces: texts(8), round, workers: WORKERS } },
			);
			assertEndedBy("exit", ended, `round ${round}`);
		}
	});
});
