import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { test } from "node:test";
import { runs } from "../data/runs.mjs";
import { valueFrom } from "../support/child.mjs";
import { assertSame, scoresOf } from "../support/scores.mjs";
import { files, firstOf } from "../support/trace-files.mjs";

/** The number of traces of a file that are scored. */
const PREFIX = 3;

/**
 * The command that runs another one on the first core of this process; `undefined` without one.
 */
function onOneCore() {
	if (process.platform !== "linux") return undefined;
	const status = readFileSync("/proc/self/status", "utf8");
	const core = /^Cpus_allowed_list:\s*(\d+)/m.exec(status)?.[1];
	const command = ["taskset", "-c", core];
	const tried = spawnSync(command[0], [...command.slice(1), "true"]);
	return tried.status === 0 ? command : undefined;
}

const under = onOneCore();

test("status reports as many threads as cores", async (t) => {
	const threads = ({ scoring }) => scoring.status().threads;
	assert.equal(await valueFrom(threads), availableParallelism());
	if (under) assert.equal(await valueFrom(threads, { under }), 1);
	else t.diagnostic("a process cannot be given a single core here");
});

test("evaluateValue does not depend on RUST_MIN_STACK", async () => {
	const body = ({ scoring, input }) => scoring.evaluateValue(input);
	const [usual, least] = [{}, { RUST_MIN_STACK: "1" }];
	const input = runs[0];
	assert.equal(
		await valueFrom(body, { input, env: least }),
		await valueFrom(body, { input, env: usual }),
	);
});

const traces = [...runs, ...files.flatMap((file) => firstOf(file, PREFIX).traces)];

for (const precision of ["exact", "fast"])
	test(`evaluateValue gives the same ${precision} scores on one core`, async (t) => {
		const env = { KNOWLEDGEPULSE_SCORING_PRECISION: precision };
		const scores = (width, options) => scoresOf(traces, width, { env, ...options });
		if (!under) t.diagnostic("a process cannot be given a single core here");
		const expected = await scores(1, {});
		const one = { under: under ?? [] };
		assertSame(await scores(1, one), expected, "one at a time");
		assertSame(await scores(8, one), expected, "8 in flight");
	});
