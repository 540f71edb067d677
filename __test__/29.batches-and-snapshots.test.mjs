import assert from "node:assert/strict";
import { channel } from "node:diagnostics_channel";
import {
	mkdtempSync,
	readdirSync,
	readFileSync,
	rmSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { blake3 } from "@noble/hashes/blake3";
import { traces } from "../examples/traces.mjs";
import { Scorer } from "../index.mjs";
import { words } from "./lib/traces.mjs";

const broken = { ...traces[0], outcome: { confidence: 2 } };

async function oneByOne(all) {
	const scorer = new Scorer();
	const scores = [];
	for (const one of all) scores.push(await scorer.evaluateValue(one));
	return scores;
}

describe("evaluateValues", () => {
	test("gives the scores of one call after another, from anything that can be iterated", async () => {
		const expected = await oneByOne(traces);
		async function* later() {
			for (const one of traces) {
				await null;
				yield one;
			}
		}
		for (const all of [traces, new Set(traces), traces.values(), later()])
			assert.deepEqual(await new Scorer().evaluateValues(all), expected);
		assert.deepEqual(await new Scorer().evaluateValues([]), []);
	});

	test("has at most 64 calls in flight", async () => {
		const scorer = new Scorer({ embedder: "off" });
		let most = 0;
		function* many() {
			for (let index = 0; index < 1000; index++) {
				most = Math.max(most, scorer.status().pending);
				yield traces[index % traces.length];
			}
		}
		assert.equal((await scorer.evaluateValues(many())).length, 1000);
		assert.ok(most >= 1 && most <= 64, String(most));
	});

	test("tells how far it is, in order", async () => {
		const told = [];
		const onProgress = (progress) => told.push(progress);
		await new Scorer({ embedder: "off" }).evaluateValues(traces, {
			onProgress,
		});
		assert.deepEqual(
			told,
			traces.map((_, index) => ({ done: index + 1, total: traces.length })),
		);
	});

	test("ends with the first trace that fails", async () => {
		const scorer = new Scorer();
		const all = [traces[0], broken, traces[1], traces[2]];
		await assert.rejects(scorer.evaluateValues(all), {
			code: "INVALID_TRACE",
			path: "outcome.confidence",
		});
		await scorer.warmup();
		assert.ok(scorer.status().cacheSize >= 1);
	});

	test("collects failures in the place of scores", async () => {
		const all = [traces[0], broken, traces[1]];
		const found = await new Scorer().evaluateValues(all, { errors: "collect" });
		const expected = await oneByOne([traces[0], traces[1]]);
		assert.deepEqual([found[0], found[2]], expected);
		assert.equal(found[1].code, "INVALID_TRACE");
	});

	test("ends the iterable when it stops", async () => {
		let ended = false;
		function* endless() {
			try {
				for (;;) yield broken;
			} finally {
				ended = true;
			}
		}
		await assert.rejects(new Scorer().evaluateValues(endless()));
		assert.ok(ended);
	});

	const rows = [
		[undefined, undefined, "traces"],
		["text", undefined, "traces"],
		[5, undefined, "traces"],
		[[], { error: "collect" }, "error"],
		[[], { errors: "ignore" }, "errors"],
		[[], { onProgress: 5 }, "onProgress"],
		[[], { signal: 5 }, "signal"],
		[[], null, "options"],
	];
	for (const [all, options, path] of rows)
		test(`refuses ${path} of ${JSON.stringify([all, options])}`, () =>
			assert.rejects(new Scorer().evaluateValues(all, options), {
				code: "INVALID_OPTION",
				path,
			}));
});

describe("a signal", () => {
	const long = (seed) => ({
		...traces[0],
		id: String(seed),
		task: { objective: words(500, seed) },
	});

	test("that is aborted already refuses the call", async () => {
		const scorer = new Scorer();
		const reason = new Error("no");
		const signal = AbortSignal.abort(reason);
		for (const name of [
			"evaluateValue",
			"explainValue",
			"peekValue",
			"remember",
		])
			await assert.rejects(scorer[name](traces[0], { signal }), reason);
		await assert.rejects(scorer.evaluateValues(traces, { signal }), reason);
		assert.equal(scorer.status().calls.answered, 0);
	});

	test("ends a call, which leaves no mark", async () => {
		const scorer = new Scorer();
		await scorer.warmup();
		const controller = new AbortController();
		const { signal } = controller;
		const aborted = [1, 2, 3].map((seed) =>
			scorer.evaluateValue(long(seed), { signal }),
		);
		const kept = scorer.evaluateValue(long(4));
		controller.abort();
		for (const call of aborted)
			await assert.rejects(call, { name: "AbortError" });
		assert.equal(await kept, (await oneByOne([long(4)]))[0]);
		assert.equal(scorer.status().cacheSize, 1);
		const { aborted: count, answered } = scorer.status().calls;
		assert.deepEqual([count, answered], [3, 2]);
	});

	test("after the answer changes nothing", async () => {
		const scorer = new Scorer();
		const controller = new AbortController();
		const { signal } = controller;
		await scorer.evaluateValue(traces[0], { signal });
		controller.abort();
		assert.equal(scorer.status().cacheSize, 1);
	});

	test("ends a batch", async () => {
		const scorer = new Scorer();
		const controller = new AbortController();
		const { signal } = controller;
		const onProgress = ({ done }) => done === 3 && controller.abort();
		const all = Array.from({ length: 20 }, (_, seed) => long(seed));
		await assert.rejects(scorer.evaluateValues(all, { signal, onProgress }), {
			name: "AbortError",
		});
		await scorer.warmup();
		assert.ok(scorer.status().cacheSize < 20);
		assert.equal(scorer.status().pending, 0);
	});
});

describe("a budget", () => {
	test("that is over gives the neutral novelty and says so; the trace enters the cache", async () => {
		const scorer = new Scorer({ budgetMs: 0 });
		const report = await scorer.explainValue({
			...traces[0],
			task: { objective: words(500, 9001) },
		});
		assert.deepEqual(
			[report.novelty.source, report.dimensions.novelty, report.text],
			["over-budget", 0.5, null],
		);
		await scorer.warmup();
		const { cacheSize, calls, budgetMs } = scorer.status();
		assert.deepEqual([cacheSize, calls.overBudget, budgetMs], [1, 1, 0]);
	});

	test("that is ample changes nothing", async () => {
		const scorer = new Scorer({ budgetMs: 1e9 });
		assert.deepEqual(
			await scorer.evaluateValues(traces),
			await oneByOne(traces),
		);
		assert.equal(scorer.status().calls.overBudget, 0);
	});
});

describe("a snapshot", () => {
	const folder = mkdtempSync(join(tmpdir(), "kp-snapshot-"));
	process.on("exit", () => rmSync(folder, { recursive: true }));
	const filled = async (options) => {
		const scorer = new Scorer(options);
		await scorer.evaluateValues(traces.slice(0, 5));
		return scorer;
	};

	test("goes on where the scorer stopped, bit for bit", async () => {
		const scorer = await filled();
		const file = join(folder, "a");
		await scorer.save(file);
		const rest = traces.slice(5);
		const expected = await oneByOne(traces);
		for (const restored of [
			Scorer.restore(scorer.snapshot()),
			await Scorer.load(file),
		])
			assert.deepEqual(await restored.evaluateValues(rest), expected.slice(5));
		assert.deepEqual(readdirSync(folder), ["a"], "no other file is left");
	});

	test("keeps ids, bounds and ages", async () => {
		const scorer = await filled({
			cache: { maxElements: 3, ttlMs: 3_600_000 },
		});
		const restored = Scorer.restore(scorer.snapshot());
		assert.equal(restored.status().cacheSize, 3);
		assert.equal(restored.forget(traces[4].id), 1);
		await restored.evaluateValues(traces);
		assert.equal(restored.status().cacheSize, 3);
		const young = Scorer.restore(scorer.snapshot(), { cache: { ttlMs: 0 } });
		assert.equal(young.status().cacheSize, 0);
	});

	test("that is cut off or damaged is refused wherever that is, and the scorer goes on", async () => {
		const scorer = await filled({ cache: { maxElements: 1 } });
		const bytes = scorer.snapshot();
		for (let length = 0; length < bytes.length; length++)
			assert.throws(() => Scorer.restore(bytes.subarray(0, length)), {
				code: "INVALID_SNAPSHOT",
			});
		for (let at = 0; at < bytes.length; at++) {
			const damaged = Buffer.from(bytes);
			damaged[at] ^= 1 << (at % 8);
			assert.throws(() => Scorer.restore(damaged), {
				code: "INVALID_SNAPSHOT",
			});
		}
		assert.equal(scorer.status().cacheSize, 1);
	});

	test("of another model is refused, and what is refused in a file is named", async () => {
		const bytes = (await filled()).snapshot();
		const [fingerprint] = /[0-9a-f]{64}/.exec(bytes.toString("latin1"));
		bytes.write(fingerprint.replaceAll("a", "b"), bytes.indexOf(fingerprint));
		const body = bytes.subarray(0, -32);
		bytes.set(blake3(body), body.length);
		const file = join(folder, "other");
		writeFileSync(file, bytes);
		await assert.rejects(Scorer.load(file), (error) => {
			assert.equal(error.code, "INVALID_SNAPSHOT");
			assert.ok(error.message.includes(fingerprint), error.message);
			return error.message.startsWith(file);
		});
	});

	test("that cannot be written leaves the former file alone", async () => {
		const scorer = await filled();
		const missing = join(folder, "missing", "file");
		await assert.rejects(scorer.save(missing), (error) => {
			assert.equal(error.code, "SNAPSHOT_IO");
			return error.message.startsWith(`cannot write ${missing}: `);
		});
		await assert.rejects(Scorer.load(missing), { code: "ENOENT" });
		assert.ok(readFileSync(join(folder, "a")).length > 1000);
	});
});

test("subscribers hear of each score", async () => {
	const heard = [];
	const listen = (message) => heard.push(message);
	const scored = channel("knowledgepulse.scoring.score");
	scored.subscribe(listen);
	const scorer = new Scorer({ embedder: "off" });
	const score = await scorer.evaluateValue(traces[0]);
	const report = await scorer.explainValue(traces[1]);
	await scorer.peekValue(traces[2]);
	scored.unsubscribe(listen);
	await scorer.evaluateValue(traces[3]);
	assert.deepEqual(heard, [
		{ scorer, trace: traces[0], score, report: undefined },
		{ scorer, trace: traces[1], score: report.score, report },
	]);
});
