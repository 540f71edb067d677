import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { describe, test } from "node:test";
import { Scorer } from "../index.mjs";
import { runs } from "./fixtures/runs.mjs";
import { files, folder, read } from "./lib/recorded.mjs";
import { assertAddsUp } from "./lib/reports.mjs";
import { assertSame, assertWithin, scoresOf } from "./lib/scores.mjs";
import { random } from "./lib/traces.mjs";

const TOLERANCE = 1e-4;
/** Random patterns are tried on the beginning of a file: it scores like the whole one. */
const PREFIX = 20;

/** Scores `traces` in many ways, which must not matter; gives the scores. */
async function sameInEveryWay(t, traces, patterns) {
	const sequential = await scoresOf(
		traces,
		traces.map(() => 1),
	);
	assertSame(
		await scoresOf(
			traces,
			traces.map(() => 16),
		),
		sequential,
		"16 in flight",
	);
	const seed = Math.floor(Math.random() * 2 ** 32);
	t.diagnostic(`seed of the random patterns: ${seed}`);
	const next = random(seed);
	for (let pattern = 0; pattern < patterns; pattern++) {
		const part = traces.slice(0, PREFIX);
		const widths = part.map(() => 1 + Math.floor(next() * 20));
		const name = `pattern ${pattern} of seed ${seed}`;
		assertSame(await scoresOf(part, widths), sequential.slice(0, PREFIX), name);
	}
	return sequential;
}

describe("recorded runs", () => {
	if (!existsSync(folder)) {
		test("are absent", (t) => {
			assert.notEqual(
				process.env.CI,
				"true",
				`${folder} is absent, which it must not be in CI`,
			);
			t.diagnostic(`${folder} is absent: no golden score was compared`);
		});
		return;
	}

	test("are there, with a golden file each", () => {
		const goldens = readdirSync(new URL("golden/", folder)).filter((name) =>
			name.endsWith(".json"),
		);
		assert.notEqual(files.length, 0);
		assert.deepEqual(
			goldens.map((name) => `${name}l`).sort(),
			[...files].sort(),
		);
	});

	for (const file of files) {
		test(`${file} scores as the SDK scores it, in every way`, async (t) => {
			const { traces, golden } = read(file);
			assert.deepEqual(
				golden.map(({ id }) => id),
				traces.map(({ id }) => id),
			);

			const scores = await sameInEveryWay(t, traces, 2);
			const worst = assertWithin(
				TOLERANCE,
				scores,
				golden.map(({ score }) => score),
				(index) => golden[index].id,
			);
			t.diagnostic(`largest distance to the golden scores: ${worst}`);
		});

		test(`${file} is explained, and every explanation adds up`, async () => {
			const { traces, golden } = read(file);
			const scorer = new Scorer();
			const reports = await Promise.all(
				traces.map((trace) => scorer.explainValue(trace)),
			);
			reports.forEach((report, index) => {
				assertAddsUp(report, golden[index].id);
				const seen = traces.slice(0, index).map(({ id }) => id);
				if (report.novelty.source === "cache")
					assert.ok(seen.includes(report.novelty.nearest));
			});
		});
	}
});

test("runs of our own score the same in every way", async (t) => {
	const scores = await sameInEveryWay(t, runs, 4);
	assert.ok(
		new Set(scores).size > runs.length / 2,
		`hardly two alike: ${scores}`,
	);
});
