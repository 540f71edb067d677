import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { Scorer } from "@knowledgepulse/scoring";
import { assertQuiet, run } from "../support/child.mjs";
import { edit } from "../support/damages.mjs";
import { draws, repeatable, repeats, seed } from "../support/draws.mjs";
import { temporaryFolder } from "../support/model-folder.mjs";
import { copyOf } from "../support/own-models.mjs";
import { filling } from "../support/traces.mjs";
import { moments, ways, works } from "./exiting.mjs";

/** The number of processes for each way, each ending at another moment. */
const ENDS = repeats(3);

/** Time to end, after which a process is killed. Ends take less than 0.5 s. */
const END_LIMIT_MS = 5_000;

/** Runs a child that sends a value just before its end, and measures the time to exit. */
async function endOf(body, { signal, ...options }) {
	let askedAt;
	let timer;
	const onValue = (_, child) => {
		if (askedAt !== undefined) return;
		askedAt = performance.now();
		if (signal) child.kill(signal);
		timer = setTimeout(() => child.kill("SIGKILL"), END_LIMIT_MS);
	};
	const ended = await run(body, { ...options, onValue });
	clearTimeout(timer);
	assert.ok(askedAt !== undefined, `ended before it was to end: ${ended.stderr}`);
	return { ...ended, took: performance.now() - askedAt };
}

const exits = async (context) => {
	const { exiting } = await import("./lifecycle/exiting.mjs");
	await exiting(context);
};

/** The exit code of each way, by default `input.code`; and what it prints. */
const EXPECTED = {
	return: {},
	"process.exit()": {},
	"an uncaught error": { code: 1, stderr: /Error: thrown on purpose/ },
	"an unhandled rejection": { code: 1, stderr: /INVALID_TRACE/ },
	"a signal": { code: null },
	"a signal with a listener": {},
};

const ENVIRONMENTS = [
	{},
	{ KNOWLEDGEPULSE_SCORING_PRECISION: "fast" },
	{ KNOWLEDGEPULSE_SCORING_BACKEND: "native" },
];

async function endInOneWay(t, way, index) {
	const draw = draws(seed + ways.indexOf(way) * 100_000 + index);
	const folder = temporaryFolder(t);
	const input = {
		way,
		folder,
		moment: moments[(index + ways.indexOf(way)) % moments.length],
		work: draw.of(works),
		count: 2 + draw.below(way === "return" ? 4 : 50),
		delay: draw.below(200),
		code: draw.below(100),
		seed: draw.below(2 ** 30),
		signal: way.startsWith("a signal") ? draw.of(["SIGTERM", "SIGINT"]) : undefined,
	};
	const env = ENVIRONMENTS[index % ENVIRONMENTS.length];
	return repeatable(JSON.stringify({ input, env }), async () => {
		const ended = await endOf(exits, { input, env, signal: input.signal });
		const { code = input.code, stderr = /^$/ } = EXPECTED[way];
		const signal = code === null ? input.signal : null;
		assert.deepEqual([ended.code, ended.signal], [code, signal], ended.stderr);
		assert.match(ended.stderr, stderr);
		assert.equal(ended.stdout, "");
		if (way === "return") assert.equal(ended.value.settled, ended.value.calls);
		// A snapshot that was being saved is complete or absent.
		for (const name of readdirSync(folder).filter((name) => /^\d$/.test(name)))
			await Scorer.load(join(folder, name));
		return ended.took;
	});
}

describe("the end of a process with calls in flight", { concurrency: 2 }, () => {
	const traces = filling(50);

	for (const way of ways) {
		test(`a process with calls in flight ends by ${way}`, async (t) => {
			let slowest = 0;
			for (let index = 0; index < ENDS; index++)
				slowest = Math.max(slowest, await endInOneWay(t, way, index));
			t.diagnostic(`slowest end: ${slowest.toFixed()} ms`);
		});
	}

	test("process.exit() does not wait for a long queue", async (t) => {
		const body = async ({ scoring, input, send }) => {
			const calls = input.map((value) => scoring.evaluateValue(value));
			await calls[0];
			send("exit");
			process.exit();
		};
		const ended = await endOf(body, { input: filling(500) });
		assertQuiet(ended);
		t.diagnostic(`exit with 500 in flight: ${ended.took.toFixed()} ms`);
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
		const { code, signal, stderr } = await endOf(body, { input: traces });
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
		const { code, signal, stderr, value } = await endOf(body, { input: traces });
		assert.deepEqual(
			{ code, signal, stderr, value },
			{ code: 6, signal: null, stderr: "", value: [true, "auto"] },
		);
	});

	test("Scorer.close and process.exit() do not wait for a tokenizer that does not end", async (t) => {
		const folder = copyOf(t, "bert");
		// Each doubles the text.
		const double = { type: "Replace", pattern: { String: "a" }, content: "aa" };
		const normalizer = { type: "Sequence", normalizers: Array(60).fill(double) };
		edit(join(folder, "tokenizer.json"), (tokenizer) => ({ ...tokenizer, normalizer }));
		const body = async ({ scoring, input, send }) => {
			const scorer = new scoring.Scorer({ model: input });
			scorer.embed("a").catch(() => {});
			while (scorer.status().embedder.state !== "ready") await new Promise(setImmediate);
			scorer.close();
			send("exit");
			process.exit(4);
		};
		const { code, signal, stderr } = await endOf(body, { input: folder });
		assert.deepEqual({ code, signal, stderr }, { code: 4, signal: null, stderr: "" });
	});
});
