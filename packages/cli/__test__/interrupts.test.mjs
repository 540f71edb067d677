import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import {
	existsSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	rmSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import {
	assertEnds,
	endOf,
	file,
	folder,
	linesOf,
	OFF,
	parsed,
	start,
	traceOf,
} from "./support.mjs";

/** Ends a command that hangs. */
const LIMIT = { timeout: 60_000 };

file("few.jsonl", linesOf([1, 2, 3].map((n) => traceOf(n))));
file("many.jsonl", linesOf(Array.from({ length: 20_000 }, (_, n) => traceOf(n))));

const mkfifo = (path) => spawnSync("mkfifo", [resolve(folder, path)]).status === 0;

/** Interrupts a command when it has got as far as it must have, for which it gets ever more time. */
async function interrupt(args, { input = "", said = /./ } = {}) {
	for (let delay = 1000; ; delay *= 2) {
		const child = start(args, LIMIT);
		child.stdin.on("error", () => {}).write(input);
		const ended = endOf(child);
		await sleep(delay);
		child.kill("SIGINT");
		const end = await ended;
		if (said.test(end.stderr) || delay > 20_000) return end;
	}
}

/** Whether a line of a journal is a row. */
const isRow = ({ score }) => score !== undefined;

test("kp-score leaves the file of -o after Ctrl-C, and puts the rows so far beside it", async () => {
	file("kept.jsonl", "old\n");
	const input = linesOf([1, 2, 3].map((n) => traceOf(n)));
	const args = ["score", "-", ...OFF, "-o", "kept.jsonl"];
	const { code, stderr } = await interrupt(args, { input, said: /after 3 traces/ });
	assert.equal(code, 130);
	assert.equal(readFileSync(join(folder, "kept.jsonl"), "utf8"), "old\n");
	assert.equal(parsed(readFileSync(join(folder, "kept.jsonl.partial"), "utf8")).length, 3);
	assert.match(stderr, /written to .*kept\.jsonl\.partial\n(.*\n)*interrupted after 3 traces\n$/);
});

test("kp-score leaves what an interrupted command has written, and refuses to write there", async () => {
	file("left/out.partial", "precious\n");
	file("left/memory", "old");
	for (const args of [
		["import", "few.jsonl", "-o", "left/out"],
		["score", "few.jsonl", ...OFF, "-o", "left/out"],
		["calibrate", "few.jsonl", ...OFF, "--rows", "left/out"],
		["score", "few.jsonl", "--novelty", "words", "--memory", "left/new", "-o", "left/out"],
	]) {
		const { stderr } = await assertEnds(2, args);
		assert.match(stderr, /left.out\.partial/);
	}
	assert.deepEqual(readdirSync(join(folder, "left")).sort(), ["memory", "out.partial"]);
	assert.equal(readFileSync(join(folder, "left/out.partial"), "utf8"), "precious\n");
});

test("kp-score score --memory goes on from the rows of interrupted commands", async () => {
	const args = ["score", "-", "--novelty", "words", "--memory", "on.kpcache", "-o", "on.jsonl"];
	const rowsIn = (name) => parsed(readFileSync(join(folder, name), "utf8")).filter(isRow);
	const idsIn = (name) => rowsIn(name).map(({ id }) => id);
	for (const first of [1, 3]) {
		const input = linesOf([first, first + 1].map((n) => traceOf(n)));
		const { stderr } = await interrupt(args, { input, said: /after 2 traces/ });
		assert.match(stderr, /written to .*on\.jsonl\.partial/);
	}
	assert.deepEqual(idsIn("on.jsonl.partial"), ["t:1", "t:2", "t:3", "t:4"]);
	const input = linesOf([1, 2, 3, 4, 5].map((n) => traceOf(n)));
	const gate = ["--threshold", "0.01", "--min-share", "1"];
	const { stderr } = await assertEnds(0, [...args, ...gate], { input });
	assert.match(stderr, /^goes on from .*on\.jsonl\.partial: 4 rows$/m);
	assert.match(stderr, /5 of 5 \(100\.0 %\) score 0\.01 or more/);
	assert.deepEqual(idsIn("on.jsonl"), ["t:1", "t:2", "t:3", "t:4", "t:5"]);
	assert.ok(!existsSync(join(folder, "on.jsonl.partial")));
});

test("kp-score score goes on with all runs that have no id", async () => {
	const args = [
		"score",
		"-",
		"--novelty",
		"words",
		"--memory",
		"no-id.kpcache",
		"-o",
		"no-id.jsonl",
	];
	const runs = [1, 2, 3].map((n) => ({ ...traceOf(n), id: undefined }));
	await interrupt(args, { input: linesOf(runs.slice(0, 1)), said: /after 1 trace;/ });
	const { stderr } = await assertEnds(0, args, { input: linesOf(runs.slice(1)) });
	assert.match(stderr, /^goes on from .*: 1 row$/m);
	const rows = parsed(readFileSync(join(folder, "no-id.jsonl"), "utf8"));
	assert.deepEqual(
		rows.map(({ objective }) => objective),
		runs.map(({ task }) => task.objective),
	);
});

test("kp-score score refuses to go on from rows of another command, and leaves them", async () => {
	const place = join(folder, "bound");
	mkdirSync(place);
	const weights = { complexity: 0.25, novelty: 0.25, toolDiversity: 0.25, outcomeConfidence: 0.25 };
	file("bound/weights.json", JSON.stringify({ code: weights }));
	file("bound/labels.csv", "id,label\nt:1,0\n");
	const args = ["score", "-", "--novelty", "words", "--memory", "bound/m", "-o", "bound/out"];
	await interrupt(args, { input: linesOf([traceOf(1)]), said: /after 1 trace;/ });
	const left = readFileSync(join(place, "out.partial"), "utf8");
	for (const [others, changed] of [
		["sources", args.with(1, "few.jsonl")],
		["memory", args.with(5, "bound/other")],
		["novelty", args.with(3, "run")],
		["since", [...args, "--since", "2020-01-01"]],
		["profiles", [...args, "--profiles", "bound/weights.json"]],
		["labels", [...args, "--labels", "bound/labels.csv"]],
	]) {
		const { stderr } = await assertEnds(2, changed, { input: linesOf([traceOf(1)]) });
		assert.match(stderr, new RegExp(`out\\.partial is there, .* with other ${others}: remove it`));
		assert.equal(readFileSync(join(place, "out.partial"), "utf8"), left);
	}
	const { stderr } = await assertEnds(0, [...args, "--threshold", "0.1"], {
		input: linesOf([traceOf(1)]),
	});
	assert.match(stderr, /^goes on from .*: 1 row$/m);
});

test("kp-score score touches nothing beside its output that is not its own", async (t) => {
	const state = ["--novelty", "words", "--memory", "own/m", "-o", "own/out"];
	const place = join(folder, "own");
	const precious = '"t:1"\nfirst line\nlast line';
	const kinds = {
		file: (path) => writeFileSync(path, precious),
		link: (path) => symlinkSync("../victim", path),
		"dangling link": (path) => symlinkSync("../none", path),
		folder: (path) => mkdirSync(path),
		pipe: (path) => mkfifo(path) || t.skip("no named pipes"),
	};
	for (const [kind, make] of Object.entries(kinds))
		for (const end of ["partial", "lock"]) {
			mkdirSync(place);
			file("victim", precious);
			make(join(place, `out.${end}`));
			const { stderr } = await assertEnds(2, ["score", "few.jsonl", ...state], LIMIT);
			assert.match(stderr, new RegExp(`out\\.${end}`), kind);
			assert.deepEqual(readdirSync(place), [`out.${end}`], kind);
			assert.equal(readFileSync(join(folder, "victim"), "utf8"), precious);
			if (kind === "file") assert.equal(readFileSync(join(place, `out.${end}`), "utf8"), precious);
			assert.ok(!existsSync(join(folder, "none")));
			rmSync(place, { recursive: true });
		}
});

/** What a command has left to go on from, as lib/unfinished.js describes it. */
function stateOf(cwd) {
	const path = join(cwd, "out.partial");
	const isWhole = existsSync(join(cwd, "out"));
	if (!existsSync(path)) return isWhole ? "the file" : "no journal";
	if (isWhole) return "the file and a journal";
	const text = readFileSync(path, "utf8");
	if (!text.includes("\n")) return "no whole line";
	if (!text.endsWith("\n")) return "a line that is not whole";
	const last = parsed(text).at(-1);
	if (Array.isArray(last)) return "ids without rows";
	return isRow(last) ? "rows" : "the first line";
}

for (const [state, kept] of [
	["--memory m", "m"],
	["--memory m --decide --threshold 0.1", "m"],
	["--store sqlite:s.db?create=1", "s.db"],
])
	test(`kp-score score ${state} goes on from every state in which it was killed`, async (t) => {
		if (process.platform === "win32") return t.skip("no signals");
		const log = file("two.jsonl", linesOf([1, 2].map((n) => traceOf(n))));
		const args = ["score", log, "--novelty", "words", ...state.split(" "), "-o", "out"];
		const undisturbed = mkdtempSync(join(folder, "undisturbed-"));
		await assertEnds(0, args, { cwd: undisturbed });
		const expected = readFileSync(join(undisturbed, "out"), "utf8");
		const states = new Set();
		for (let step = 1, hasEnded = false; !hasEnded; step += 1) {
			const cwd = mkdtempSync(join(folder, "killed-"));
			const NODE_OPTIONS = `--require "${fileURLToPath(new URL("killing.cjs", import.meta.url))}"`;
			const env = { ...process.env, NODE_OPTIONS, KILL_AT: step };
			// The second time, it is killed while it goes on.
			for (let times = 2; times > 0 && !hasEnded; times -= 1) {
				const { code, signal, stderr } = await endOf(start(args, { cwd, env }));
				assert.ok(code === 0 || signal === "SIGKILL", stderr);
				states.add(stateOf(cwd));
				hasEnded = code === 0 && times === 2;
			}
			await assertEnds(0, args, { cwd });
			const out = readFileSync(join(cwd, "out"), "utf8");
			assert.deepEqual(parsed(out), parsed(expected), `step ${step}`);
			const left = readdirSync(cwd).filter((name) => !/^\.kp-.*\.tmp$|-(shm|wal)$/.test(name));
			assert.deepEqual(left.sort(), [kept, "out"].sort());
			if (!hasEnded) continue;
			// All runs are known, and nothing does not replace them, or they are decided on as before.
			const again = await assertEnds(0, args, { cwd });
			if (!state.includes("--decide"))
				assert.match(again.stderr, /^warning: nothing to write: out stays as it was$/m);
			assert.equal(readFileSync(join(cwd, "out"), "utf8"), out);
		}
		const found = ["no journal", "no whole line", "the first line", "a line that is not whole"];
		if (kept === "s.db") found.push("ids without rows");
		found.push("rows", "the file and a journal", "the file");
		assert.deepEqual([...states].sort(), found.sort());
	});

/** A server that never answers. */
async function silentServer(t) {
	const sockets = [];
	const server = createServer((socket) => sockets.push(socket)).listen(0, "127.0.0.1");
	await once(server, "listening");
	t.after(() => {
		for (const socket of sockets) socket.destroy();
		server.close();
	});
	return `postgres://user@127.0.0.1:${server.address().port}/db`;
}

for (const [name, argsFor] of [
	["a silent standard input", () => ["score", "-", ...OFF]],
	["a silent standard input and the model", () => ["score", "-"]],
	[
		"a store that does not answer",
		async (t) => ["score", "few.jsonl", "--store", await silentServer(t)],
	],
	[
		"a store that explain copies",
		async (t) => ["explain", "few.jsonl", "--store", await silentServer(t)],
	],
	["a silent --profiles", () => ["score", "few.jsonl", ...OFF, "--profiles", "silent"]],
	["a silent --labels", () => ["calibrate", "few.jsonl", ...OFF, "--labels", "silent"]],
	["an -o without a reader", () => ["score", "few.jsonl", ...OFF, "-o", "silent"]],
	["an --html without a reader", () => ["calibrate", "few.jsonl", ...OFF, "--html", "silent"]],
])
	test(`kp-score ends with Ctrl-C while it waits for ${name}`, async (t) => {
		if (!existsSync(join(folder, "silent")) && !mkfifo("silent")) return t.skip("no named pipes");
		const { code, signal, stderr } = await interrupt(await argsFor(t));
		// A connection that does not close leaves the end to the signal.
		assert.ok(code === 130 || (name.includes("store") && signal === "SIGINT"), stderr);
		assert.match(stderr, /interrupted/);
		assert.doesNotMatch(stderr, /error:/);
	});

test("kp-score ends with Ctrl-C while nobody reads its output", async (t) => {
	if (process.platform === "win32") return t.skip("no signals");
	const child = start(["import", "many.jsonl"], LIMIT);
	// Nothing is read until it has ended.
	await sleep(2500);
	child.kill("SIGINT");
	const [code, signal] = await once(child, "exit");
	assert.ok(code === 130 || signal === "SIGINT", `${code} ${signal}`);
	child.stdout.destroy();
});

test("kp-score ends with Ctrl-C while it matches a pattern that takes forever", async (t) => {
	if (process.platform === "win32") return t.skip("no signals");
	const place = join(folder, "pattern");
	mkdirSync(place);
	writeFileSync(join(place, `${"a".repeat(200)}.json`), "");
	const child = start(["score", `${"*a".repeat(25)}b`], { cwd: place, ...LIMIT });
	const ended = endOf(child);
	await sleep(2500);
	child.kill("SIGINT");
	const { code, signal } = await ended;
	assert.ok(code === 130 || signal === "SIGINT" || code === 2, `${code} ${signal}`);
});
