import assert from "node:assert/strict";
import { availableParallelism } from "node:os";
import { describe, test } from "node:test";
import { runs } from "./fixtures/runs.mjs";
import { valueFrom } from "./lib/child.mjs";
import { onOneCore } from "./lib/cores.mjs";
import { files, read } from "./lib/recorded.mjs";
import { assertSame, scoresOf } from "./lib/scores.mjs";

/** The beginning of a file scores like the whole of it. */
const PREFIX = 30;

const under = onOneCore();

test("threads are as many as the cores that the process may use", async (t) => {
	const threads = ({ scoring }) => scoring.status().threads;
	assert.equal(await valueFrom(threads), availableParallelism());
	if (under) assert.equal(await valueFrom(threads, { under }), 1);
	else t.diagnostic("a process cannot be given a single core here");
});

describe("scores on one core are those on all", () => {
	const sets = [
		["runs of our own", () => runs],
		...files.map((file) => [file, () => read(file).traces.slice(0, PREFIX)]),
	];
	for (const [name, traces] of sets) {
		for (const precision of ["exact", "fast"]) {
			test(`${name}, ${precision}`, async (t) => {
				const list = traces();
				const env = { KNOWLEDGEPULSE_SCORING_PRECISION: precision };
				const scores = (width, options) =>
					scoresOf(
						list,
						list.map(() => width),
						{ env, ...options },
					);
				if (!under)
					t.diagnostic("a process cannot be given a single core here");
				const expected = await scores(1, {});
				const one = { under: under ?? [] };
				assertSame(await scores(1, one), expected, "one at a time");
				assertSame(await scores(8, one), expected, "8 in flight");
			});
		}
	}
});
