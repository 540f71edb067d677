import assert from "node:assert/strict";
import { cpSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { assertQuiet, run } from "../support/child.mjs";
import { edit } from "../support/damages.mjs";
import { temporaryFolder } from "../support/model-folder.mjs";
import { modelFolder } from "../support/own-models.mjs";
import { repeats } from "../support/repeats.mjs";
import { says, words } from "../support/traces.mjs";

/** How many processes exit with calls in flight. */
const EXITS = repeats(18);

const IN_FLIGHT = 50;

/**
 * A process that is still there so long after `process.exit()` is killed. An exit takes less than a
 * second; the rest is for busy machines.
 */
const EXIT_LIMIT_MS = 8_000;

/** Texts that fill the window, with short ones between them. */
const texts = (count) => Array.from({ length: count }, (_, i) => says(words(i % 5 ? 450 : 5, i)));

/** Runs a child that sends "exit" just before it exits, and measures how long that takes. */
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
	assert.ok(calledAt !== undefined, `ended before it was to exit: ${ended.stderr}`);
	return { ...ended, took: performance.now() - calledAt };
}

/** Scores, and exits at a moment. */
async function exitWithWorkInFlight({ scoring, input, send }) {
	const calls = input.traces.map((value) => scoring.evaluateValue(value));
	const moments = {
		"at once": () => {},
		"in the next turn": () => new Promise(setImmediate),
		"while the model is loading": () => new Promise((resolve) => setTimeout(resolve, input.delay)),
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

describe("exit with calls in flight", { concurrency: 2 }, () => {
	const traces = texts(IN_FLIGHT);

	for (const moment of MOMENTS) {
		test(`process.exit() ends calls in flight ${moment}`, async (t) => {
			let slowest = 0;
			for (let i = 0; i < EXITS / MOMENTS.length; i++) {
				const code = 3 + (i % 100);
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

	test("process.exit() does not wait for a long queue", async (t) => {
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

	test("process.exit() can be called by a getter of a trace", async () => {
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
		assert.deepEqual({ code, signal, stderr }, { code: 5, signal: null, stderr: "" });
	});

	test("evaluateValue rejects in an exit listener", async () => {
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

	test("process.exit() does not wait for a tokenizer that does not end", async (t) => {
		const folder = join(temporaryFolder(t), "model");
		cpSync(modelFolder("bert"), folder, { recursive: true });
		// Each doubles the text.
		const double = { type: "Replace", pattern: { String: "a" }, content: "aa" };
		const normalizer = { type: "Sequence", normalizers: Array(60).fill(double) };
		edit(join(folder, "tokenizer.json"), (tokenizer) => ({ ...tokenizer, normalizer }));
		const body = async ({ scoring, input, send }) => {
			const scorer = new scoring.Scorer({ model: input });
			scorer.embed("a").catch(() => {});
			while (scorer.status().embedder.state !== "ready") await new Promise(setImmediate);
			send("exit");
			process.exit(4);
		};
		const { code, signal, stderr } = await exitOf(body, { input: folder });
		assert.deepEqual({ code, signal, stderr }, { code: 4, signal: null, stderr: "" });
	});

	for (const delay of [0, 30, 150, 400]) {
		test(`an uncaught error after ${delay} ms ends the process with calls in flight`, async () => {
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

	test("an unhandled rejection ends the process with calls in flight", async () => {
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

	test("a signal ends the process with calls in flight", async () => {
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
