import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, readdirSync, readFileSync, symlinkSync, utimesSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import {
	assertEnds,
	endOf,
	file,
	folder,
	idsOf,
	linesOf,
	OFF,
	parsed,
	rowsOf,
	start,
	traceOf,
} from "./support.mjs";

const { slashed } = createRequire(import.meta.url)("../lib/sources.js");

const at = (n, time) => traceOf(n, { metadata: { created_at: time && `2026-01-${time}:00.000Z` } });

/** Sessions in another order by name than by time; traces within one are not in order either. */
for (const [name, traces] of [
	["a.jsonl", [at(1, "03T10:00"), at(2, "01T10:00")]],
	["b.jsonl", [at(3, "02T10:00"), at(4, "09T10:00")]],
	["deep/c.jsonl", [at(5, "01T09:00"), at(6, "04T10:00")]],
	["aa.jsonl", [at(7, undefined)]],
])
	file(`sessions/${name}`, linesOf(traces));
const IN_ORDER = ["t:5", "t:6", "t:3", "t:4", "t:1", "t:2", "t:7"];

test("kp-score takes sources in the order of their times with every command", async () => {
	assert.deepEqual(await idsOf(["score", "sessions", ...OFF]), IN_ORDER);
	assert.deepEqual(await idsOf(["score", "sessions/**/*.jsonl", ...OFF]), IN_ORDER);
	assert.deepEqual(await idsOf(["explain", "sessions", ...OFF]), IN_ORDER);
	assert.deepEqual(await idsOf(["import", "sessions"]), IN_ORDER);
	const [b, a] = ["sessions/b.jsonl", "sessions/a.jsonl"];
	assert.deepEqual(await idsOf(["score", a, b, ...OFF]), ["t:3", "t:4", "t:1", "t:2"]);
});

test("kp-score score and calibrate give the same rows for a folder", async () => {
	const scored = await rowsOf(["score", "sessions"]);
	await assertEnds(0, ["calibrate", "sessions", "--rows", "rows.jsonl"]);
	assert.deepEqual(parsed(readFileSync(join(folder, "rows.jsonl"), "utf8")), scored);
});

test("kp-score reads standard input after the files", async () => {
	const rows = await rowsOf(["score", "-", "sessions/a.jsonl", ...OFF], {
		input: linesOf([at(8, "01T00:00")]),
	});
	const found = rows.map(({ id, source: { name, line } }) => `${id} of ${name}:${line}`);
	const of = ["t:1 of sessions/a.jsonl:1", "t:2 of sessions/a.jsonl:2", "t:8 of stdin:1"];
	assert.deepEqual(found, of);
});

test("kp-score shows sources as they were typed", async () => {
	for (const [typed, name] of [
		["./sessions/", "./sessions/deep/c.jsonl"],
		["sessions", "sessions/deep/c.jsonl"],
		["./sessions/d*/*.jsonl", "./sessions/deep/c.jsonl"],
		[join(folder, "sessions/*/c.jsonl"), join(folder, "sessions/deep/c.jsonl")],
	]) {
		const [row] = await rowsOf(["score", typed, ...OFF]);
		assert.equal(row?.source.name, name);
	}
});

test("slashed turns the separators of Windows, and only there", () => {
	assert.equal(slashed("D:\\logs\\*.jsonl", "\\"), "D:/logs/*.jsonl");
	assert.equal(slashed("a\\*b/*.jsonl", "/"), "a\\*b/*.jsonl");
});

const mkfifo = (path) => spawnSync("mkfifo", [join(folder, path)]).status === 0;

test("kp-score skips other than regular files in a folder", async (t) => {
	file("pipes/b.jsonl", linesOf([traceOf(1)]));
	if (!mkfifo("pipes/a.jsonl")) return t.skip("no named pipes");
	symlinkSync("a.jsonl", join(folder, "pipes", "c.jsonl"));
	symlinkSync("b.jsonl", join(folder, "pipes", "d.jsonl"));
	for (const source of ["pipes", "pipes/*.jsonl"]) {
		const rows = await rowsOf(["score", source, ...OFF], { timeout: 60_000 });
		const names = rows.map(({ source: { name } }) => name);
		assert.deepEqual(names, ["pipes/b.jsonl"]);
	}
});

test("kp-score follows links that are sources, and counts those in folders", async () => {
	file("mine/secret.jsonl", linesOf([traceOf(1)]));
	file("received/own.jsonl", linesOf([traceOf(2)]));
	file("received/deep/other.jsonl", linesOf([traceOf(3)]));
	for (const [to, link] of [
		["../mine/secret.jsonl", "stolen.jsonl"],
		["../../mine", "deep/mine"],
		["..", "deep/circle"],
		["missing", "deep/broken"],
		["loop", "deep/loop"],
		["own.jsonl", "notes.txt"],
	])
		symlinkSync(to, join(folder, "received", link));
	for (const [index, source] of ["received", "received/**/*.jsonl", "rec*/**"].entries()) {
		const { stdout, stderr } = await assertEnds(0, ["score", source, ...OFF]);
		const ids = parsed(stdout).map(({ id }) => id);
		assert.deepEqual(ids.sort(), ["t:2", "t:3"]);
		assert.match(
			stderr,
			/^warning: did not follow 3 links, such as received\/(stolen\.jsonl|deep\/\w+); name them to read what they lead to$/m,
		);
		const shared = `shared-${index}`;
		const select = ["select", source, "--count", "9", "--novelty", "words", "--copy", shared];
		for (let times = 0; times < 2; times++) await assertEnds(0, select);
		assert.deepEqual(readdirSync(join(folder, shared)).sort(), ["deep", "own.jsonl"]);
	}
	const named = ["received/stolen.jsonl", "received/deep/mine", "received/deep/mine/*.jsonl"];
	for (const source of named) assert.deepEqual(await idsOf(["score", source, ...OFF]), ["t:1"]);
	// Under all of its names, it is one file.
	assert.deepEqual(await idsOf(["score", ...named, "mine", ...OFF]), ["t:1"]);
});

test("kp-score takes names that begin like JSON for names", async () => {
	for (const name of ["[a].jsonl", "{b}.jsonl", "[logs]/c.jsonl"])
		file(`odd/${name}`, linesOf([traceOf(name.charCodeAt(1))]));
	file("odd/[logs]/broken.jsonl", '{"no json');
	const cwd = join(folder, "odd");
	const args = ["[a].jsonl", "{b}.jsonl", "[logs]", "--count", "3", "--novelty", "words"];
	const copied = ["{b}.jsonl", "[a].jsonl", "[logs]"].sort();
	const { stderr } = await assertEnds(0, ["select", ...args, "--copy", "copies"], { cwd });
	assert.match(stderr, /^3 logs copied/m);
	assert.deepEqual(readdirSync(join(cwd, "copies")).sort(), copied);
});

test("kp-score reads a named pipe, and ends with Ctrl-C if nobody writes to it", async (t) => {
	if (!mkfifo("pipe.jsonl") || !mkfifo("silent.jsonl")) return t.skip("no named pipes");
	const writing = () =>
		once(spawn("sh", ["-c", "cat pipe-runs > pipe.jsonl"], { cwd: folder }), "close");
	file("pipe-runs", linesOf([traceOf(1), traceOf(2)]));
	const read = idsOf(["score", "pipe.jsonl", ...OFF]);
	await writing();
	assert.deepEqual(await read, ["t:1", "t:2"]);
	for (const command of ["score", "explain", "import", "calibrate"]) {
		// The second pipe has no writer.
		const child = start([command, "pipe.jsonl", "silent.jsonl"], { timeout: 60_000 });
		const ended = endOf(child);
		await writing();
		child.kill("SIGINT");
		const { code, signal, stderr } = await ended;
		assert.deepEqual([code, signal], [130, null], `${command}: ${stderr}`);
	}
});

for (const [name, encode] of [
	["in UTF-16, little-endian", (text) => Buffer.from(`\ufeff${text}`, "utf16le")],
	["in UTF-16, big-endian", (text) => Buffer.from(`\ufeff${text}`, "utf16le").swap16()],
	["with a BOM", (text) => `\ufeff${text}`],
	["with CRLF", (text) => text.replaceAll("\n", "\r\n")],
	["with no newline at the end", (text) => text.trim()],
	["with blank lines", (text) => `\n\n${text.replace("\n", "\n \n")}`],
	["with a line of 20 MB", (text) => text.replace("A race in 1?", "x".repeat(2e7))],
])
	test(`kp-score reads logs, and rows, ${name}`, async () => {
		file("odd.jsonl", encode(linesOf([traceOf(1, { objective: "Größe 🙂" }), traceOf(2)])));
		const { stdout } = await assertEnds(0, ["score", "odd.jsonl", ...OFF]);
		const rows = parsed(stdout);
		const found = rows.map(({ id, source }) => `${id} of ${source.name}`);
		assert.deepEqual(found, ["t:1 of odd.jsonl", "t:2 of odd.jsonl"]);
		assert.equal(rows[0].objective, "Größe 🙂");
		file("odd-rows.jsonl", encode(stdout));
		const compared = await rowsOf(["compare", "odd-rows.jsonl", "odd.jsonl", ...OFF]);
		const changes = compared.map(({ change }) => change);
		assert.deepEqual(changes, [0, 0]);
	});

test("kp-score ignores errors in the logs of a folder, unless --errors is given", async () => {
	const text = `${linesOf([at(1, "03T10:00")])}{"no json`;
	for (const name of ["live/a.jsonl", "live/b.jsonl", "named.jsonl"]) file(name, text);
	for (const command of ["score", "explain", "import"]) {
		const off = command === "import" ? [] : OFF;
		const { stdout, stderr } = await assertEnds(0, [command, "live", ...off]);
		assert.equal(parsed(stdout).length, 2);
		assert.match(
			stderr,
			/warning: 2 errors: INVALID_JSON 2\n *the first: live\/a\.jsonl:2: invalid/,
		);
		for (const mode of ["reject", "collect"])
			await assertEnds(2, [command, "live", ...off, "--errors", mode]);
		await assertEnds(2, [command, "live", "named.jsonl", ...off]);
	}
});

test("kp-score reads compressed logs that it finds in a folder", async () => {
	file("archive/run.jsonl.gz", gzipSync(linesOf([at(1, "03T10:00")])));
	assert.deepEqual(await idsOf(["score", "archive", ...OFF]), ["t:1"]);
});

test("kp-score skips and counts files of a folder that are not logs, and refuses them by name", async () => {
	for (const [name, content] of [
		["run.jsonl", linesOf([at(1, "03T10:00")])],
		["run.traj", linesOf([at(2, "02T10:00")])],
		["package.json", '{\n\t"name": "other"\n}\n'],
		["sessions-index.json", '{"entries":[]}'],
		["empty.jsonl", ""],
		["one.meta.json", "{}"],
		["novelty.db", "SQLite format 3\0"],
		["state.json", Buffer.from("SQLite format 3\0\xff", "latin1")],
		["comments.json", '{ // a setting\n"a": 1 }'],
	])
		file(`mixed/${name}`, content);
	for (const command of ["score", "explain", "import", "calibrate"]) {
		const off = command === "import" ? [] : OFF;
		// Two runs are too few to calibrate.
		const code = command === "calibrate" ? 2 : 0;
		const { stderr } = await assertEnds(code, [command, "mixed", ...off]);
		assert.match(
			stderr,
			/warning: skipped 4 files without a log of an agent, such as mixed\/comments\.json$/m,
		);
	}
	assert.deepEqual(await idsOf(["score", "mixed", ...OFF]), ["t:2", "t:1"]);
	const { stderr } = await assertEnds(2, ["score", "mixed/package.json", ...OFF]);
	assert.match(stderr, /package\.json: expected a log of one of the formats/);
});

test("kp-score explain writes errors before its source ends", async () => {
	const child = start(["explain", "-", "--errors", "collect", ...OFF]);
	child.stdin.write(linesOf([at(1, "01T00:00")]));
	child.stdin.write("no json\n");
	let written = "";
	for await (const chunk of child.stdout) {
		written += chunk;
		if (written.includes("INVALID_JSON")) break;
	}
	assert.match(written, /"report":.*\n.*INVALID_JSON/);
	child.kill();
});

test("kp-score takes the time of a source from the beginning of its file, or from its last change", async () => {
	const message = (n) => ({ role: "user", content: `Task ${n}, "at": "1999-01-01T00:00:00Z"` });
	const chat = (n, key, time) =>
		JSON.stringify({ [key]: time, messages: [message(n), { role: "assistant", content: "Done" }] });
	for (const [name, text] of [
		["a", chat(1, "timestamp", "2026-03-01T00:00:00Z")],
		["b", chat(2, "created", 1_767_225_600)],
		["c", chat(3, "start_time", 1_769_904_000_000)],
		["d", chat(4, "startTimeUnixNano", "1770904000000000000")],
		["e", chat(5, "title", "no time")],
	])
		file(`timed/${name}.json`, text);
	utimesSync(join(folder, "timed/e.json"), 0, new Date("2026-02-20T00:00:00Z"));
	const rows = await rowsOf(["score", "timed", ...OFF]);
	const order = rows.map(({ source }) => source.name.slice("timed/".length, -".json".length));
	assert.deepEqual(order, ["b", "c", "d", "e", "a"]);
});

test("kp-score takes a log that is in a folder twice, compressed and not, once", async () => {
	const text = linesOf([at(1, "03T10:00")]);
	file("twins/run.jsonl", text);
	file("twins/run.jsonl.gz", gzipSync(text));
	assert.deepEqual(await idsOf(["score", "twins", ...OFF]), ["t:1"]);
});

test("kp-score passes over a compressed file of a folder that is cut, and counts it", async () => {
	const cut = gzipSync(linesOf([at(1, "03T10:00")])).subarray(0, -9);
	file("cut/a.jsonl.gz", cut);
	file("cut/b.jsonl", linesOf([at(2, "03T10:00")]));
	const { stdout, stderr } = await assertEnds(0, ["score", "cut", ...OFF]);
	assert.match(stdout, /"t:2"/);
	assert.match(stderr, /warning: 1 error: UNREADABLE 1/);
});

test("kp-score passes over folders and files that it cannot read, and counts them", async (t) => {
	if (process.getuid?.() === 0 || process.platform === "win32") return t.skip("all can be read");
	file("partly/locked/run.jsonl", linesOf([at(1, "03T10:00")]));
	file("partly/run.jsonl", linesOf([at(2, "03T10:00")]));
	chmodSync(join(folder, "partly/locked"), 0);
	t.after(() => chmodSync(join(folder, "partly/locked"), 0o700));
	const { stdout, stderr } = await assertEnds(0, ["score", "partly", ...OFF]);
	assert.deepEqual(
		parsed(stdout).map(({ id }) => id),
		["t:2"],
	);
	assert.match(stderr, /warning: cannot read 1 folder, such as partly\/locked/);
});

test("kp-score compare and calibrate read compressed rows", async () => {
	const { stdout } = await assertEnds(0, ["score", "sessions", ...OFF]);
	file("rows.jsonl.gz", gzipSync(stdout));
	const changes = await rowsOf(["compare", "rows.jsonl.gz", "sessions", ...OFF]);
	assert.equal(changes.length, IN_ORDER.length);
});
