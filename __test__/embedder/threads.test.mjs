import assert from "node:assert/strict";
import { availableParallelism } from "node:os";
import { test } from "node:test";
import { runs } from "../fixtures/runs.mjs";
import { valueFrom } from "../support/child.mjs";
import { onOneCore } from "../support/cores.mjs";
import { files, firstOf } from "../support/recorded.mjs";
import { assertSame, scoresOf } from "../support/scores.mjs";

/** Only so many traces of a file are scored. */
const PREFIX = 5;

const under = onOneCore();

test("status reports as many threads as cores", async (t) => {
	const threads = ({ scoring }) => scoring.status().threads;
	assert.equal(await valueFrom(threads), availableParallelism());
	if (under) assert.equal(await valueFrom(threads, { under }), 1);
	else t.diagnostic("a process cannot be given a single core here");
});

const sets = [
	["runs of the fixtures", () => runs],
	...files.map((file) => [file, () => firstOf(file, PREFIX).traces]),
];

for (const [name, traces] of sets) {
	for (const precision of ["exact", "fast"]) {
		test(`evaluateValue gives ${name} the same ${precision} scores on one core`, async (t) => {
			const list = traces();
			const env = { KNOWLEDGEPULSE_SCORING_PRECISION: precision };
			const scores = (width, options) => scoresOf(list, width, { env, ...options });
			if (!under) t.diagnostic("a process cannot be given a single core here");
			const expected = await scores(1, {});
			const one = { under: under ?? [] };
			assertSame(await scores(1, one), expected, "one at a time");
			assertSame(await scores(8, one), expected, "8 in flight");
		});
	}
}
