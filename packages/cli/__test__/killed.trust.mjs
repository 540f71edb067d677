/** kp-score score --store -o that is killed at any moment: the same command gives all rows then, and adds each run once. */
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { repeats } from "../../../__test__/support/draws.mjs";
import { DatabaseSync } from "../../stores/__test__/sqlite/files.mjs";
import { endOf, file, folder, kpScore, linesOf, parsed, start, traceOf } from "./support.mjs";

const { Exit } = createRequire(import.meta.url)("../lib/exit.js");

const TIMES = repeats(20);
/** The number of kills when the file was whole already. */
let wholes = 0;
/** Fewer than are compared, so that a row does not depend on when it was scored. */
const RUNS = 900;

const command = (name) => {
	const store = ["--store", `sqlite:${name}.db?create=1`, "--novelty", "words"];
	return ["score", "runs.jsonl", "-o", `${name}.jsonl`, ...store];
};

/** The rows of a command that has ended, which leaves no other file. */
function rowsOf(name) {
	const rows = parsed(readFileSync(join(folder, `${name}.jsonl`), "utf8"));
	const db = new DatabaseSync(join(folder, `${name}.db`));
	const ids = db.prepare("SELECT id FROM novelty_entries ORDER BY seq").all();
	db.close();
	assert.deepEqual(
		ids.map(({ id }) => Buffer.from(id).toString()),
		Array.from({ length: RUNS }, (_, n) => `t:${n}`),
	);
	const left = readdirSync(folder).filter((file) => /\.(partial|pending|tmp)$/.test(file));
	assert.deepEqual(left, []);
	for (const file of readdirSync(folder)) if (file !== "runs.jsonl") rmSync(join(folder, file));
	return rows;
}

/**
 * Starts a command and kills it: after it has made the store, unless it `isEarly`. Returns whether it had ended, as its exit code
 * or its files tell: a later kill takes nothing.
 */
async function killed(longest, isEarly) {
	const child = start(command("killed"));
	const ended = endOf(child);
	const isWaiting = () => !isEarly && !existsSync(join(folder, "killed.db"));
	while (child.exitCode === null && isWaiting()) await sleep(1);
	await sleep(Math.random() * longest);
	child.kill("SIGKILL");
	const { code, stderr } = await ended;
	assert.ok([null, Exit.OK, Exit.UNAVAILABLE].includes(code), stderr);
	const isThere = (name) => existsSync(join(folder, name));
	const isWhole = isThere("killed.jsonl");
	if (isWhole && code === null) wholes += 1;
	return code === Exit.OK || (isWhole && !isThere("killed.jsonl.pending"));
}

/** Gives the command until it succeeds: a busy machine may not answer for its store in time. */
async function finished() {
	const { code, stderr } = await kpScore(command("killed"), {});
	if (code === Exit.OK) return rowsOf("killed");
	assert.equal(code, Exit.UNAVAILABLE, stderr);
	return finished();
}

test(`kp-score score --store -o that is killed ${TIMES} times gives each row and adds each run once`, {
	skip: process.platform === "win32" && "no signals",
}, async (t) => {
	file("runs.jsonl", linesOf(Array.from({ length: RUNS }, (_, n) => traceOf(n))));
	const began = performance.now();
	const expected = await finished();
	const longest = performance.now() - began;
	for (let kills = 0; kills < TIMES; ) {
		let hasEnded = false;
		// Some are killed more than once.
		do {
			hasEnded = await killed(longest / 2, Math.random() < 0.1);
			kills += hasEnded ? 0 : 1;
		} while (!hasEnded && Math.random() < 0.4);
		assert.deepEqual(hasEnded ? rowsOf("killed") : await finished(), expected);
	}
	t.diagnostic(`${wholes} of the kills came when the file was whole`);
});
