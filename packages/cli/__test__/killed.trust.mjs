/** kp-score score -o that is killed at any moment: the same command gives all rows then, each once, and adds each run once. */
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

/** How often a command is killed, of each kind. */
const TIMES = repeats(5);
/** Fewer than are compared, so that a row does not depend on when it was scored. */
const RUNS = 900;

file("runs.jsonl", linesOf(Array.from({ length: RUNS }, (_, n) => traceOf(n))));
const withoutIds = Array.from({ length: RUNS }, (_, n) => ({ ...traceOf(n), id: undefined }));
file("no-ids.jsonl", linesOf(withoutIds));
const broken = Array.from({ length: RUNS }, (_, n) =>
	n % 50 === 7 ? '{"\n' : linesOf([traceOf(n)]),
);
file("broken.jsonl", broken.join(""));
const inputs = readdirSync(folder);

const [STORE, MEMORY] = ["--store sqlite:killed.db?create=1", "--memory killed.kpcache"];

/** The rows of a run without an id are not compared with what it has added when it was killed. */
const place = ({ error, source, score }) => [error ?? source, score === undefined];

/** Kinds of commands: what is given, what is compared of the rows, and the exit code. */
const KINDS = {
	"a store": [`runs.jsonl ${STORE}`],
	"a memory": [`runs.jsonl ${MEMORY}`],
	"a store and a page": [`runs.jsonl ${STORE} --html killed.html`],
	"a memory and a page": [`runs.jsonl ${MEMORY} --html killed.html`],
	"a store and errors": [`broken.jsonl ${STORE} --errors collect`, undefined, Exit.INPUT],
	"a memory and errors": [`broken.jsonl ${MEMORY} --errors collect`, undefined, Exit.INPUT],
	"a store and runs without ids": [`no-ids.jsonl ${STORE}`, place],
	"a memory and runs without ids": [`no-ids.jsonl ${MEMORY}`],
	"a store and decisions": [`runs.jsonl ${STORE} --decide --threshold 0.1`, ({ id }) => id],
	"a memory and decisions": [`runs.jsonl ${MEMORY} --decide --threshold 0.1`],
};

const at = (name) => join(folder, name);

/** The rows of a command that has ended, which leaves nothing to go on from; of its store, each id is there once. */
function rowsOf(told = (row) => row) {
	const rows = parsed(readFileSync(at("killed.jsonl"), "utf8"));
	if (existsSync(at("killed.db"))) {
		const db = new DatabaseSync(at("killed.db"));
		const found = db.prepare("SELECT id FROM novelty_entries WHERE id IS NOT NULL").all();
		db.close();
		const ids = found.map(({ id }) => Buffer.from(id).toString());
		assert.equal(new Set(ids).size, ids.length);
	}
	assert.ok(!existsSync(at("killed.jsonl.partial")));
	for (const name of readdirSync(folder)) if (!inputs.includes(name)) rmSync(at(name));
	return rows.map(told);
}

for (const [kind, [line, told, success = Exit.OK]] of Object.entries(KINDS))
	test(`kp-score score -o with ${kind} gives each row once after ${TIMES} kills`, {
		skip: process.platform === "win32" && "no signals",
	}, async (t) => {
		const command = ["score", ...line.split(" "), "-o", "killed.jsonl", "--novelty", "words"];

		/** Gives the command until it succeeds: a busy machine may not answer for its store in time. */
		async function finished() {
			const { code, stderr } = await kpScore(command, {});
			if (code === success) return rowsOf(told);
			assert.equal(code, Exit.UNAVAILABLE, stderr);
			return finished();
		}

		/** Starts the command and kills it, mostly after it has begun to write. Returns whether it had ended. */
		async function killed(longest, isEarly) {
			const child = start(command);
			const ended = endOf(child);
			const isWaiting = () => !isEarly && !existsSync(at("killed.jsonl.partial"));
			while (child.exitCode === null && isWaiting()) await sleep(1);
			await sleep(Math.random() * longest);
			child.kill("SIGKILL");
			const { code, stderr } = await ended;
			assert.ok([null, success, Exit.UNAVAILABLE].includes(code), stderr);
			const isWhole = existsSync(at("killed.jsonl"));
			if (isWhole && code === null) wholes += 1;
			return code === success || (isWhole && !existsSync(at("killed.jsonl.partial")));
		}

		let wholes = 0;
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
			assert.deepEqual(hasEnded ? rowsOf(told) : await finished(), expected);
		}
		t.diagnostic(`${wholes} of the kills came when the file was whole`);
	});
