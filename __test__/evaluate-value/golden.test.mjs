import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { test } from "node:test";
import { Scorer } from "@knowledgepulse/scoring";
import { runs } from "../fixtures/runs.mjs";
import { files, folder, read } from "../support/recorded.mjs";
import { assertAddsUp } from "../support/reports.mjs";
import { assertSame, assertWithin, scoresOf } from "../support/scores.mjs";
import { random } from "../support/traces.mjs";

const TOLERANCE = 1e-4;

/** Random widths are tried with the first traces of a file only. */
const PREFIX = 20;

/** The scores of `traces`, checked not to depend on how many calls are in flight. */
async function scoresWhateverIsInFlight(t, traces, patterns) {
	const sequential = await scoresOf(traces, 1);
	assertSame(await scoresOf(traces, 16), sequential, "16 in flight");
	const seed = Math.floor(Math.random() * 2 ** 32);
	t.diagnostic(`seed of the random widths: ${seed}`);
	const next = random(seed);
	for (let pattern = 0; pattern < patterns; pattern++) {
		const part = traces.slice(0, PREFIX);
		const widths = part.map(() => 1 + Math.floor(next() * 20));
		const name = `widths ${pattern} of seed ${seed}`;
		assertSame(await scoresOf(part, widths), sequential.slice(0, PREFIX), name);
	}
	return sequential;
}

test("recorded runs have a golden file each", (t) => {
	if (files.length === 0) {
		assert.notEqual(process.env.CI, "true", `${folder} must exist in CI`);
		t.diagnostic(`${folder} is absent: no golden score was compared`);
		return;
	}
	const goldens = readdirSync(new URL("golden/", folder)).filter((name) => name.endsWith(".json"));
	assert.deepEqual(goldens.map((name) => `${name}l`).sort(), [...files].sort());
});

for (const file of files) {
	test(`evaluateValue gives the golden scores of ${file}, however many calls are in flight`, async (t) => {
		const { traces, golden } = read(file);
		assert.deepEqual(
			golden.map(({ id }) => id),
			traces.map(({ id }) => id),
		);

		const scores = await scoresWhateverIsInFlight(t, traces, 2);
		const worst = assertWithin(
			TOLERANCE,
			scores,
			golden.map(({ score }) => score),
			(index) => golden[index].id,
		);
		t.diagnostic(`largest distance to the golden scores: ${worst}`);
	});

	test(`explainValue accounts for every score of ${file}`, async () => {
		const { traces, golden } = read(file);
		const scorer = new Scorer();
		const reports = await Promise.all(traces.map((trace) => scorer.explainValue(trace)));
		reports.forEach((report, index) => {
			assertAddsUp(report, golden[index].id);
			const seen = traces.slice(0, index).map(({ id }) => id);
			if (report.novelty.source === "cache") assert.ok(seen.includes(report.novelty.nearest));
		});
	});
}

test("evaluateValue gives the same scores for the runs of the fixtures, however many calls are in flight", async (t) => {
	const scores = await scoresWhateverIsInFlight(t, runs, 4);
	assert.ok(new Set(scores).size > runs.length / 2, `hardly two alike: ${scores}`);
});
