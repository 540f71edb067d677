import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Scorer } from "@knowledgepulse/scoring";
import {
	assertEnds,
	endOf,
	file,
	folder,
	linesOf,
	OFF,
	parsed,
	rowsOf,
	start,
	traceOf,
} from "./support.mjs";

/** Where a file cannot be removed while others wait for its lock. */
const isWindows = process.platform === "win32";

/** Ends a command that hangs. */
const LIMIT = { timeout: 300_000 };

const RUNS = 6;

/** A run a file, later ones later. */
for (let n = 0; n < RUNS; n++) file(`sessions/${n}.jsonl`, linesOf([traceOf(n)]));

/** The number of traces in a memory. */
async function sizeOf(memory) {
	const scorer = await Scorer.load(join(folder, memory));
	const { cacheSize } = scorer.status();
	scorer.close();
	return cacheSize;
}

for (const [name, ...options] of [
	["--memory", "--memory", "twice.kpcache"],
	["--store", "--store", "sqlite:twice.db?create=1"],
]) {
	const args = ["score", "sessions", ...options];
	let first;

	test(`kp-score score ${name} does not score runs again that it has`, async () => {
		first = await rowsOf(args);
		assert.equal(first.length, RUNS);
		const { stdout, stderr } = await assertEnds(0, args);
		assert.equal(stdout, "");
		assert.match(stderr, /6 of 6 scored before, or repeated here: not scored; --again scores them/);
		// Between the others.
		const metadata = { created_at: "2026-01-01T00:00:02.500Z" };
		file("new/new.jsonl", linesOf([traceOf(700, { metadata })]));
		const more = await assertEnds(0, [...args, "new"]);
		assert.match(
			more.stderr,
			/6 of 7 scored before, or repeated here: not scored; --again scores them/,
		);
		assert.deepEqual(
			parsed(more.stdout).map(({ id }) => id),
			["t:700"],
		);
	});

	test(`kp-score score ${name} --again gives the scores of the first time, and adds nothing`, async () => {
		for (const more of [[], ["new"]]) {
			const again = await rowsOf([...args, ...more, "--again"]);
			assert.deepEqual(
				again.filter(({ id }) => id !== "t:700"),
				first,
			);
		}
		const explained = await rowsOf(["explain", "sessions", ...options]);
		assert.deepEqual(
			explained.map(({ report }) => report.score),
			first.map(({ score }) => score),
		);
		if (name === "--memory") assert.equal(await sizeOf("twice.kpcache"), RUNS + 1);
	});
}

test("kp-score score --decide decides on runs that the memory has as before, and adds none again", async () => {
	const args = ["score", "sessions", "--decide", "--threshold", "0.5", "--memory", "d.kpcache"];
	const decisions = async () => (await rowsOf(args)).map(({ id, accepted }) => [id, accepted]);
	const before = await decisions();
	const size = await sizeOf("d.kpcache");
	assert.deepEqual(await decisions(), before);
	assert.equal(await sizeOf("d.kpcache"), size);
});

test("kp-score score --min-share is met if all runs were scored before", async () => {
	const args = ["score", "sessions", "--memory", "gate.kpcache", "--threshold", "1"];
	await assertEnds(3, [...args, "--min-share", "1"]);
	await assertEnds(0, [...args, "--min-share", "1"]);
});

test("kp-score score --min-share is not met by nothing", async () => {
	const args = ["score", "sessions", "--threshold", "0", "--min-share", "0.1"];
	for (const more of [
		["--project", "typo", "--novelty", "words"],
		["--project", "typo", "--memory", "typo.kpcache"],
		["--since", "2100-01-01", "--novelty", "words"],
	]) {
		const { stderr } = await assertEnds(3, [...args, ...more]);
		assert.match(stderr, /gate not met: no run is selected, --min-share is 10\.0 %/);
	}
	await assertEnds(3, [...args, "--project", "typo", "--memory", "typo.kpcache"]);
});

test("kp-score adds the runs of all processes that share one --memory file", LIMIT, async () => {
	const [processes, runs] = [8, 40];
	const ended = Array.from({ length: processes }, (_, process) => {
		const own = Array.from({ length: runs }, (_, n) => traceOf(runs * process + n));
		const path = file(`shared-${process}.jsonl`, linesOf(own));
		return endOf(start(["score", path, "--memory", "shared.kpcache", "-q"], LIMIT));
	});
	for (const { code, stderr } of await Promise.all(ended)) assert.equal(code, 0, stderr);
	assert.equal(await sizeOf("shared.kpcache"), processes * runs);
	const others = readdirSync(folder).filter((name) => name.startsWith("shared.kpcache."));
	assert.deepEqual(others, isWindows ? ["shared.kpcache.lock"] : []);
});

/** Starts a command that has the lock of a memory. */
async function holding(t, memory) {
	const child = start(["score", "-", "--memory", memory], LIMIT);
	t.after(() => child.kill("SIGKILL"));
	while (!existsSync(join(folder, `${memory}.lock`))) await sleep(20);
	return child;
}

test("kp-score goes on, and says so, where the file system has no locks", async () => {
	const native = JSON.stringify(createRequire(import.meta.url).resolve("../../../lib/native.js"));
	const without = `require(${native}).native.FileLock = { take: () => ({ isHeld: false, release() {} }) };`;
	const env = { ...process.env, NODE_OPTIONS: `--require ${file("without.cjs", without)}` };
	const args = ["score", "sessions", "--memory", "unlocked.kpcache", ...OFF];
	const { stderr } = await assertEnds(0, args, { env });
	assert.match(stderr, /^warning: the file system has no locks: no other process must write/m);
});

test("kp-score takes the lock of a process that has died", LIMIT, async (t) => {
	const holder = await holding(t, "dead.kpcache");
	holder.kill("SIGKILL");
	await endOf(holder);
	assert.ok(existsSync(join(folder, "dead.kpcache.lock")));
	const args = ["score", "sessions", "--memory", "dead.kpcache"];
	const both = await Promise.all([1, 2].map(() => endOf(start(args, LIMIT))));
	for (const { code, stderr } of both) assert.equal(code, 0, stderr);
	assert.equal(await sizeOf("dead.kpcache"), RUNS);
	assert.equal(existsSync(join(folder, "dead.kpcache.lock")), isWindows);
});

test(
	"kp-score waits for the process that uses its memory, says so, and ends with Ctrl-C",
	LIMIT,
	async (t) => {
		const holder = await holding(t, "held.kpcache");
		const waiting = start(["score", "sessions", "--memory", "held.kpcache"], LIMIT);
		const interrupted = start(["score", "sessions", "--memory", "held.kpcache"], LIMIT);
		const ended = endOf(waiting);
		const [said] = await once(interrupted.stderr, "data");
		assert.match(String(said), /^waiting for another process, which uses .*held\.kpcache /);
		interrupted.kill("SIGINT");
		assert.equal((await endOf(interrupted)).code, 130);
		holder.stdin.end(linesOf([traceOf(900)]));
		assert.equal((await endOf(holder)).code, 0);
		const { code, stderr } = await ended;
		assert.equal(code, 0, stderr);
		assert.equal(await sizeOf("held.kpcache"), RUNS + 1);
	},
);
