/** How processes have ended, and how long they took to. */
import assert from "node:assert/strict";
import { run } from "../../__test__/lib/child.mjs";

/** An end may take so long from the moment that it is asked for. */
export const LIMIT_MS = 2_000;
/** So much is put down to other load on the machine. */
export const MARGIN_MS = 2_000;
/** What hangs for so long is killed. */
const KILL_AFTER_MS = 30_000;

/** Runs a program with the package, or with the stand-in for it. Its values come from `exiting`. */
async function program({ input, send }) {
	const { exiting } = await import("../trust/lifecycle/exiting.mjs");
	const scoring = await import(
		input.addon ? "../index.mjs" : "../trust/lifecycle/stand-in.mjs"
	);
	await exiting(scoring, input, send);
}

/** Runs `body`, which tells when it is about to end: how it ended, and how long after that. */
export async function endOf(
	input,
	{ env, body = program, preload = false } = {},
) {
	let asked;
	const onValue = (_, child) => {
		asked ??= performance.now();
		if (input.signal) child.kill(input.signal);
	};
	const killAfterMs = KILL_AFTER_MS;
	const options = { input, env, onValue, preload, killAfterMs };
	const ended = await run(body, options);
	const took = asked === undefined ? Number.NaN : performance.now() - asked;
	return { ...ended, took };
}

/** What must be the same with and without the addon. Stacks differ, what was thrown does not. */
function essence({ code, signal, stdout, stderr, value }) {
	const lines = stderr.split("\n").filter((line) => !/^\s+at /.test(line));
	return { code, signal, stdout, stderr: lines, calls: value?.calls };
}

/** Fails unless a program has ended as without the addon, and in time. */
export function assertSameEnd(withAddon, without) {
	assert.deepEqual(essence(withAddon), essence(without));
	assert.ok(
		withAddon.took <= LIMIT_MS + Math.max(MARGIN_MS, without.took),
		`it took ${withAddon.took} ms from the end of the program to that of the process`,
	);
}
