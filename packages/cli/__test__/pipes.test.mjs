import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import {
	assertEnds,
	endOf,
	file,
	folder,
	linesOf,
	parsed,
	shell,
	start,
	traceOf,
} from "./support.mjs";

const MANY = 10_000;
const many = Array.from({ length: MANY }, (_, n) => traceOf(n));
file("many.jsonl", linesOf(many));

test("kp-score finishes the work for a gate when nobody reads", async () => {
	const { stdout, stderr } = await shell(
		'kp-score score many.jsonl --embedder off --threshold 1 --min-share 1 | head -1 > /dev/null; echo "$PIPESTATUS"',
	);
	assert.equal(stdout, "3\n");
	assert.match(stderr, /10,000 traces/);
});

test("kp-score writes all of a long output to a slow reader", async () => {
	const { stdout } = await shell(
		"kp-score score many.jsonl --embedder off -q | (sleep 0.3; cat) | wc -l",
	);
	assert.equal(stdout.trim(), String(MANY));
});

test("kp-score leaves no half file on a full disk", async (t) => {
	const mount = join(folder, "small");
	mkdirSync(mount);
	const args = ["-t", "tmpfs", "-o", "size=64k", "tmpfs", mount];
	if (spawnSync("mount", args).status !== 0) return t.skip("cannot mount");
	try {
		for (const rest of [
			["import", "many.jsonl", "-o", join(mount, "out")],
			["score", "many.jsonl", "--embedder", "off", "-o", join(mount, "out")],
		]) {
			const { stderr } = await assertEnds(1, rest);
			assert.match(stderr, /ENOSPC/);
			assert.deepEqual(readdirSync(mount), []);
		}
	} finally {
		spawnSync("umount", [mount]);
	}
});

test("kp-score calibrate ends soon after Ctrl-C, and reports nothing", async () => {
	const dimensions = { complexity: 0.5, novelty: 0.5, toolDiversity: 0.5 };
	const rows = Array.from({ length: 5_000 }, (_, n) => ({
		id: `t:${n}`,
		group: `g:${n % 1000}`,
		domain: "code",
		noveltySource: "cache",
		score: (n % 997) / 997,
		similarity: 0.5,
		label: n % 7 > 2,
		success: n % 5 > 1,
		confidence: 0.9,
		dimensions: { ...dimensions, outcomeConfidence: (n % 13) / 13 },
	}));
	file("calibrated.jsonl", linesOf(rows));
	const written = join(folder, "rows.jsonl");
	const long = ["--fit", "--replicates", "10000", "--rows", "rows.jsonl", "--html", "never.html"];
	const child = start(["calibrate", "calibrated.jsonl", ...long]);
	const ended = endOf(child);
	// The rows are complete when the calibration begins, which takes minutes.
	while (!existsSync(written)) await setTimeout(20);
	await setTimeout(100);
	child.kill("SIGINT");
	const { code, signal, stdout, stderr } = await ended;
	assert.deepEqual([code, signal, stdout], [130, null, ""]);
	assert.match(stderr, /interrupted after 5,000 runs: nothing was calibrated/);
	assert.ok(!existsSync(join(folder, "never.html")));
});

test("kp-score writes whole lines whenever Ctrl-C comes", async () => {
	for (const delay of [0, 60, 120, 180, 240, 300]) {
		const child = start(["score", "many.jsonl", "--embedder", "off"]);
		const ended = endOf(child);
		setTimeout(delay).then(() => child.kill("SIGINT"));
		const { code, signal, stdout } = await ended;
		if (stdout !== "") assert.equal(stdout.at(-1), "\n");
		const rows = parsed(stdout);
		// While Node.js starts and assertEnds, a signal stops it like any process.
		if (signal === "SIGINT") assert.ok(rows.length === 0 || rows.length === MANY);
		else if (code === 0) assert.equal(rows.length, MANY);
		else assert.equal(code, 130);
	}
});
