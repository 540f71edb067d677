import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { test } from "node:test";
import { Scorer } from "@knowledgepulse/scoring";
import { codeReview, finance, runs } from "../data/runs.mjs";
import { embed } from "../oracle/embedder.mjs";
import { Scorer as OracleScorer } from "../oracle/scorer.mjs";
import { draws, repeats, seed } from "../support/draws.mjs";
import {
	assertAddsUp,
	assertClose,
	assertSame,
	assertWithin,
	scoresOf,
} from "../support/scores.mjs";
import { files, goldenOf, isWritten, read, tracesOf } from "../support/trace-files.mjs";

const TOLERANCE = 1e-4;

/** A whole file is scored once; its first traces are scored with variations that must not change scores. */
const PREFIX = 3;

/** Fails unless the first traces have these scores one at a time and with random calls in flight. */
async function assertSameInFlight(traces, scores, patterns, count = PREFIX) {
	const part = traces.slice(0, count);
	const first = scores.slice(0, count);
	assertSame(await scoresOf(part, 1), first, "one at a time");
	const { below } = draws(seed);
	for (let pattern = 0; pattern < patterns; pattern++) {
		const widths = part.map(() => 1 + below(20));
		assertSame(await scoresOf(part, widths), first, `KP_SEED=${seed}, widths ${pattern}`);
	}
}

if (process.env.KP_UPDATE)
	for (const file of files.filter(isWritten)) {
		const scorer = new OracleScorer({ embed });
		const golden = [];
		for (const trace of tracesOf(file))
			golden.push({ id: trace.id, score: await scorer.evaluateValue(trace) });
		writeFileSync(goldenOf(file), `${JSON.stringify(golden, null, "\t")}\n`);
	}

for (const file of files) {
	test(`evaluateValue and explainValue give the golden scores of ${file}, however many calls are in flight`, async () => {
		const { traces, golden } = read(file);
		assert.deepEqual(
			golden.map(({ id }) => id),
			traces.map(({ id }) => id),
		);

		// Reports explain each score, and need no second run.
		const scorer = new Scorer();
		const reports = await Promise.all(traces.map((trace) => scorer.explainValue(trace)));
		const scores = reports.map(({ score }) => score);
		const right = golden.map(({ score }) => score);
		assertWithin(TOLERANCE, scores, right, (index) => golden[index].id);
		await assertSameInFlight(traces, scores, 1);
		reports.forEach((report, index) => {
			assertAddsUp(report, golden[index].id);
			const seen = traces.slice(0, index).map(({ id }) => id);
			if (report.novelty.source === "cache") assert.ok(seen.includes(report.novelty.nearest));
		});
	});
}

test("evaluateValue gives the same scores for the runs of the fixtures, however many calls are in flight", async () => {
	const scores = await scoresOf(runs, 16);
	await assertSameInFlight(runs, scores, repeats(2), runs.length);
	assert.ok(new Set(scores).size > runs.length / 2, `hardly two alike: ${scores}`);
});

for (const [name, { trace, score }] of Object.entries({ codeReview, finance })) {
	test(`evaluateValue scores the example ${name} of the protocol, with and without an embedder`, async () => {
		const found = await new Scorer().evaluateValue(trace);
		assertClose(found, score, "with the embedder");
		assert.equal(await new Scorer({ embedder: "off" }).evaluateValue(trace), found);
	});
}
