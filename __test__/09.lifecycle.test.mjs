import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { assertEndedWell, assertQuiet, run, valueFrom } from "./lib/child.mjs";
import { says, trace, words } from "./lib/traces.mjs";

/** How often a process exits with work in flight. */
const EXITS = 60;
const IN_FLIGHT = 50;
/**
 * An exit may take a second. A process that is not gone this long after it has called
 * `process.exit()` is killed; the rest is for busy machines, on which a second is soon over.
 */
const EXIT_LIMIT_MS = 8_000;

/** Texts that fill the window, and some short ones between them. */
const texts = (count) =>
	Array.from({ length: count }, (_, i) => says(words(i % 5 ? 450 : 5, i)));

/** Runs a child that sends "exit" just before it exits, and then has to be gone soon. */
async function exitOf(body, options) {
	let calledAt;
	let timer;
	const onValue = (value, child) => {
		if (value !== "exit") return;
		calledAt = performance.now();
		timer = setTimeout(() => child.kill("SIGKILL"), EXIT_LIMIT_MS);
	};
	const ended = await run(body, { ...options, onValue });
	clearTimeout(timer);
	assert.ok(
		calledAt !== undefined,
		`ended before it was to exit: ${ended.stderr}`,
	);
	return { ...ended, took: performance.now() - calledAt };
}

/** What the child does before it exits, and when it does so. */
async function exitWithWorkInFlight({ scoring, input, send }) {
	const calls = input.traces.map((value) => scoring.evaluateValue(value));
	const moments = {
		"at once": () => {},
		"in the next turn": () => new Promise(setImmediate),
		"while the model is loading": () =>
			new Promise((resolve) => setTimeout(resolve, input.delay)),
		"after the first score": () => calls[0],
		"after some scores": () => calls[Math.floor(input.delay / 10)],
		"in the middle of a text": async () => {
			await calls[0];
			await new Promise((resolve) => setTimeout(resolve, input.delay));
		},
	};
	await moments[input.moment]();
	send("exit");
	process.exit(input.code);
}
const MOMENTS = [
	"at once",
	"in the next turn",
	"while the model is loading",
	"after the first score",
	"after some scores",
	"in the middle of a text",
];

describe("process.exit() with work in flight", { concurrency: 2 }, () => {
	const traces = texts(IN_FLIGHT);
	for (const moment of MOMENTS) {
		test(moment, async (t) => {
			let slowest = 0;
			for (let i = 0; i < EXITS / MOMENTS.length; i++) {
				const code = 3 + i;
				const input = { traces, moment, code, delay: i * 9 };
				const ended = await exitOf(exitWithWorkInFlight, { input });
				const { signal, stdout, stderr } = ended;
				const name = `exit ${i}, ${moment}`;
				assert.deepEqual(
					{ code: ended.code, signal, stdout, stderr },
					{ code, signal: null, stdout: "", stderr: "" },
					name,
				);
				slowest = Math.max(slowest, ended.took);
			}
			t.diagnostic(`slowest exit: ${slowest.toFixed()} ms`);
		});
	}

	test("does not wait for a long queue", async (t) => {
		const input = {
			traces: texts(2000),
			moment: "after the first score",
			code: 0,
			delay: 0,
		};
		const ended = await exitOf(exitWithWorkInFlight, { input });
		assertQuiet(ended);
		t.diagnostic(`exit with 2,000 in flight: ${ended.took.toFixed()} ms`);
	});

	test("out of a getter of the trace that is being read", async () => {
		const body = async ({ scoring, input, send }) => {
			for (const value of input) scoring.evaluateValue(value);
			scoring.evaluateValue({
				get metadata() {
					send("exit");
					return process.exit(5);
				},
			});
		};
		const { code, signal, stderr } = await exitOf(body, { input: traces });
		assert.deepEqual(
			{ code, signal, stderr },
			{ code: 5, signal: null, stderr: "" },
		);
	});

	test("calls from an exit listener are rejected, and do no harm", async () => {
		const body = async ({ scoring, input, send }) => {
			for (const value of input) scoring.evaluateValue(value);
			process.on("exit", () => {
				const call = scoring.evaluateValue(input[0]);
				scoring._getLocalCache().add(new Float32Array(384));
				send([call instanceof Promise, scoring.status().embedder.mode]);
				call.catch(() => {});
			});
			send("exit");
			process.exit(6);
		};
		const { code, signal, stderr, value } = await exitOf(body, {
			input: traces,
		});
		assert.deepEqual(
			{ code, signal, stderr, value },
			{ code: 6, signal: null, stderr: "", value: [true, "auto"] },
		);
	});
});

describe("other ends with work in flight", { concurrency: 2 }, () => {
	const traces = texts(IN_FLIGHT);

	for (const delay of [0, 30, 150, 400]) {
		test(`an uncaught error after ${delay} ms`, async () => {
			const body = async ({ scoring, input, send }) => {
				for (const value of input.traces) scoring.evaluateValue(value);
				setTimeout(() => {
					send("exit");
					throw new Error("thrown on purpose");
				}, input.delay);
			};
			const { code, signal, stderr } = await exitOf(body, {
				input: { traces, delay },
			});
			assert.deepEqual({ code, signal }, { code: 1, signal: null }, stderr);
			assert.match(stderr, /Error: thrown on purpose/);
		});
	}

	test("an unhandled rejection of our own", async () => {
		const body = async ({ scoring, input, send }) => {
			for (const value of input) scoring.evaluateValue(value);
			send("exit");
			scoring.evaluateValue({});
			await new Promise(() => {});
		};
		const { code, signal, stderr } = await exitOf(body, { input: traces });
		assert.deepEqual({ code, signal }, { code: 1, signal: null }, stderr);
		assert.match(stderr, /INVALID_TRACE/);
	});

	test("a signal", async () => {
		const body = async ({ scoring, input, send }) => {
			for (const value of input) scoring.evaluateValue(value);
			await new Promise((resolve) => setTimeout(resolve, 100));
			send("exit");
			process.kill(process.pid, "SIGTERM");
		};
		const { signal } = await exitOf(body, { input: traces });
		assert.equal(signal, "SIGTERM");
	});
});

describe("without an end", { concurrency: 2 }, () => {
	test("a process lives until its promises have settled, and then ends by itself", async () => {
		const ended = await run(
			({ scoring, input, send }) => {
				for (const value of input) scoring.evaluateValue(value).then(send);
			},
			{ input: texts(20) },
		);
		assertQuiet(ended);
		assert.equal(ended.values.length, 20);
	});

	test("so it does when it has work again and again", async () => {
		const values = await valueFrom(
			async ({ scoring, input }) => {
				const scores = [await scoring.evaluateValue(input)];
				for (let i = 0; i < 3; i++) {
					await new Promise((resolve) => setTimeout(resolve, 20));
					scores.push(await scoring.evaluateValue(input));
				}
				return scores;
			},
			{ input: trace() },
		);
		assert.equal(values.length, 4);
	});

	test("work that begins when the process has nothing left to do is done, too", async () => {
		const ended = await run(
			async ({ scoring, input, send }) => {
				process.once("beforeExit", () =>
					scoring.evaluateValue(input).then(send),
				);
			},
			{ input: trace() },
		);
		assertQuiet(ended);
		assert.equal(typeof ended.value, "number");
	});

	test("an idle process ends by itself", async () => {
		const idle = {
			"after the import": () => {},
			"with a cache": ({ scoring }) => {
				globalThis.kept = [scoring._getLocalCache(), new scoring.VectorCache()];
			},
			"after a rejected call": ({ scoring }) =>
				scoring.evaluateValue({}).catch(() => {}),
			"after a score": async ({ scoring, input }) => {
				await scoring.evaluateValue(input);
			},
		};
		for (const body of Object.values(idle))
			assertQuiet(await run(body, { input: trace() }));
	});

	test("modules that are loaded many times over share one exit listener", async () => {
		const listeners = await valueFrom(async ({ scoring }) => {
			const { createRequire } = await import("node:module");
			const require = createRequire(import.meta.url);
			const listeners = process.listenerCount("exit");
			for (let time = 0; time < 20; time++) {
				for (const file of Object.keys(require.cache))
					if (!file.endsWith(".node")) delete require.cache[file];
				if (require("../index.js") === scoring) throw new Error("not anew");
			}
			return process.listenerCount("exit") - listeners;
		});
		assert.equal(listeners, 0);
	});

	test("the addon can be loaded twice", async () => {
		const ended = await run(
			async ({ scoring, input }) => {
				const { createRequire } = await import("node:module");
				const require = createRequire(import.meta.url);
				for (const file of Object.keys(require.cache))
					delete require.cache[file];
				const again = require("../index.js");
				const scores = await Promise.all(
					[again, scoring].map((module) => module.evaluateValue(input)),
				);
				const vectors = [again, scoring].map(
					(module) => new module.VectorCache({ dimensions: 1 }),
				);
				for (const cache of vectors) cache.add([1]);
				return [
					again === scoring,
					...vectors.map(({ size }) => size),
					...scores,
				];
			},
			{ input: trace() },
		);
		assertEndedWell(ended);
		const [same, first, second, ...scores] = ended.value;
		assert.deepEqual([same, first, second], [false, 1, 1]);
		for (const score of scores)
			assert.ok(score > 0 && score < 1, String(score));
	});
});
