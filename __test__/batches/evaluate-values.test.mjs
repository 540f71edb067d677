import assert from "node:assert/strict";
import { test } from "node:test";
import { InvalidTraceError, Scorer } from "@knowledgepulse/scoring";
import { traces } from "../../examples/traces.mjs";
import { all } from "../support/imports.mjs";
import { oneByOne } from "../support/scores.mjs";

const broken = { ...traces[0], outcome: { confidence: 2 } };

test("evaluateValues gives the scores of sequential calls, for any iterable", async () => {
	const expected = await oneByOne(traces);
	async function* later() {
		for (const one of traces) {
			await null;
			yield one;
		}
	}
	for (const given of [traces, new Set(traces), traces.values(), later()])
		assert.deepEqual(await new Scorer().evaluateValues(given), expected);
	assert.deepEqual(await new Scorer().evaluateValues([]), []);
});

test("evaluateValues has at most 64 calls in flight", async () => {
	const scorer = new Scorer();
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

test("evaluateValues reports progress in order", async () => {
	const told = [];
	const onProgress = (progress) => told.push(progress);
	await new Scorer({ embedder: "off" }).evaluateValues(traces, { onProgress });
	assert.deepEqual(
		told,
		traces.map((_, index) => ({ done: index + 1, total: traces.length })),
	);
});

test("evaluateValues rejects with the first error", async () => {
	const scorer = new Scorer();
	const given = [traces[0], broken, { ...traces[1], steps: 5 }, traces[2]];
	await assert.rejects(scorer.evaluateValues(given), {
		code: "INVALID_TRACE",
		path: "outcome.confidence",
	});
	await scorer.warmup();
	assert.ok(scorer.status().cacheSize >= 1);
});

test("evaluateValues collects errors in place of scores", async () => {
	const given = [traces[0], broken, traces[1]];
	const found = await new Scorer().evaluateValues(given, { errors: "collect" });
	const expected = await oneByOne([traces[0], traces[1]]);
	assert.deepEqual([found[0], found[2]], expected);
	assert.ok(found[1].error instanceof InvalidTraceError);
});

/** Gives a trace without an end, and notes in `state` when it is closed. */
function* endless(trace, state) {
	try {
		for (;;) yield trace;
	} finally {
		state.isClosed = true;
	}
}

test("evaluateValues closes the iterable when it stops", async () => {
	const state = { isClosed: false };
	await assert.rejects(new Scorer().evaluateValues(endless(broken, state)));
	assert.ok(state.isClosed);
});

test("evaluateValues with remember: false leaves the cache alone", async () => {
	const scorer = new Scorer();
	const scores = await scorer.evaluateValues([traces[0], traces[0]], { remember: false });
	assert.equal(scores[0], scores[1]);
	assert.equal(scorer.status().cacheSize, 0);
});

test("explainValues gives the reports of sequential calls", async () => {
	const one = new Scorer();
	const expected = [];
	for (const value of traces) expected.push(await one.explainValue(value));
	const found = await all(new Scorer().explainValues(traces));
	const plain = ({ timesMs, text, ...report }) => report;
	assert.deepEqual(found.map(plain), expected.map(plain));
});

test("explainValues has several calls in flight, and stops with the loop", async () => {
	const scorer = new Scorer();
	const state = { isClosed: false };
	for await (const { score } of scorer.explainValues(endless(traces[0], state))) {
		assert.ok(score >= 0);
		if (scorer.status().pending > 1) break;
	}
	assert.ok(state.isClosed);
	await scorer.warmup();
	assert.equal(scorer.status().pending, 0);
});

test("explainValues throws for a wrong argument", () => {
	const scorer = new Scorer();
	assert.throws(() => scorer.explainValues(5), { code: "INVALID_OPTION", path: "traces" });
	assert.throws(() => scorer.explainValues([], { remember: 1 }), { path: "remember" });
});

/** Gives the traces, and then nothing more, without an end. */
async function* silentAfter(...given) {
	yield* given;
	await new Promise(() => {});
}

test("evaluateValues rejects with an error while its source is silent", async () => {
	const scoring = new Scorer().evaluateValues(silentAfter(traces[0], broken));
	await assert.rejects(scoring, { code: "INVALID_TRACE" });
	const onProgress = () => {
		throw new RangeError("in onProgress");
	};
	const told = new Scorer().evaluateValues(silentAfter(traces[0]), { onProgress });
	await assert.rejects(told, RangeError);
});

test("evaluateValues and explainValues reject with CLOSED while their source is silent", async () => {
	const scorer = new Scorer();
	const options = { errors: "collect" };
	const reports = scorer.explainValues(silentAfter(traces[0]), options);
	await reports.next();
	const waiting = [reports.next(), scorer.evaluateValues(silentAfter(), options)];
	scorer.close();
	for (const call of waiting) await assert.rejects(call, { code: "CLOSED" });
});

test("evaluateValues lets the event loop run even if every call settles at once", async () => {
	let turns = 0;
	let immediate;
	const turn = () => {
		turns += 1;
		immediate = setImmediate(turn);
	};
	turn();
	const many = Array.from({ length: 6400 }, () => traces[0]);
	await new Scorer({ embedder: "off" }).evaluateValues(many);
	clearImmediate(immediate);
	assert.ok(turns >= 100, `${turns} turns`);
});

const rows = [
	[undefined, undefined, "traces"],
	["text", undefined, "traces"],
	[5, undefined, "traces"],
	[[], { error: "collect" }, "error", /did you mean errors\?/],
	[[], { errors: "ignore" }, "errors"],
	[[], { onProgress: 5 }, "onProgress"],
	[[], null, "options"],
];

for (const [given, options, path, message = /./] of rows)
	test(`evaluateValues refuses ${path} of ${JSON.stringify([given, options])}`, () =>
		assert.rejects(new Scorer().evaluateValues(given, options), {
			code: "INVALID_OPTION",
			path,
			message,
		}));
