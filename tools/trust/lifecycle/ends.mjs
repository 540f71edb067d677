/** How processes have ended, and how long they took to. */
import assert from "node:assert/strict";
import { callIn } from "../lib/child.mjs";

/** An end may take so long from the moment that it is asked for. */
export const LIMIT_MS = 2_000;
/** So much is put down to other load on the machine. */
export const MARGIN_MS = 2_000;
/** A process that takes this long hangs, and is killed. */
const KILL_AFTER_MS = 30_000;

/**
 * Runs the function `name` of a file here, which sends a value when it is about to end: how the process
 * ended, and how long after that. The package is not imported unless `preload` is true.
 */
export async function endOf(name, { file = "exiting.mjs", input, env, preload = false }) {
	let asked;
	const onValue = (_, child) => {
		asked ??= performance.now();
		if (input.signal) child.kill(input.signal);
	};
	const killAfterMs = KILL_AFTER_MS;
	const options = { input, env, onValue, preload, killAfterMs };
	const ended = await callIn(`lifecycle/${file}`, name, options);
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
		`the process took ${withAddon.took} ms to end`,
	);
}
