import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import {
	cpSync,
	existsSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	statSync,
	symlinkSync,
} from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Scorer } from "@knowledgepulse/scoring";
import { DatabaseSync } from "../../stores/__test__/sqlite/files.mjs";
import {
	assertEnds,
	endOf,
	file,
	folder,
	linesOf,
	parsed,
	rowsOf,
	start,
	traceOf,
} from "./support.mjs";

const require = createRequire(import.meta.url);
const { SqliteStore } = require("@knowledgepulse/scoring-stores/sqlite");
const { fileOf } = require("../lib/store.js");
const { masked } = require("../lib/terminal.js");

const PASSWORD = "s3cret";

file("one.jsonl", linesOf([traceOf(1)]));
file("first.jsonl", linesOf([1, 2, 3, 4].map((n) => traceOf(n))));
file("second.jsonl", linesOf([1, 5, 6, 700].map((n) => traceOf(n))));

/** Returns the number of entries in a store. */
function entriesOf(name) {
	const db = new DatabaseSync(join(folder, name));
	const { count } = db.prepare("SELECT count(*) AS count FROM novelty_entries").get();
	db.close();
	return count;
}

for (const [name, url, message = /./] of [
	["of another scheme", `mysql://user:${PASSWORD}@host/db`],
	["without slashes", `postgres:user:${PASSWORD}@host`],
	["without a host", `postgres://user:${PASSWORD}@`],
	["with an invalid host", `postgres://user:${PASSWORD}@[::bad/x`],
	["with an invalid port", `postgres://user:${PASSWORD}/@host/db`],
	[
		"with an unknown parameter",
		`postgres://user:${PASSWORD}@host/db?namespac=x`,
		/unknown parameter "namespac".*namespace/,
	],
	["with a password in a parameter", `postgres://host/db?passwort=${PASSWORD}`],
])
	test(`kp-score refuses a store URL ${name} without showing the password`, async () => {
		const { stdout, stderr } = await assertEnds(2, ["score", "one.jsonl", "--store", url]);
		assert.match(stderr, /^error: store URL: .+\n$/);
		assert.match(stderr, message);
		assert.ok(!(stdout + stderr).includes(PASSWORD), stderr);
	});

test("kp-score takes the parameters of libpq that pg takes", async () => {
	const parameters = "sslmode=disable&channel_binding=require&connect_timeout=5&lock_timeout=9";
	const url = `postgres://user@127.0.0.1:1/db?${parameters}`;
	const { stderr } = await assertEnds(4, ["score", "one.jsonl", "--store", url]);
	assert.match(stderr, /ECONNREFUSED/);
});

for (const secret of [
	`postgres://host/db?pwd=${PASSWORD}`,
	`postgres://host/db?unknown=${PASSWORD}`,
	`postgres://host/db#password=${PASSWORD}`,
	`host=h password=${PASSWORD} user=u`,
	`host=h password='${PASSWORD} ${PASSWORD}'`,
	`postgres:user:${PASSWORD}@host/db`,
	`postgre//user:${PASSWORD}@host/db`,
	`postgres://user:a\n${PASSWORD}@host/db`,
])
	test(`masked shows no secret in ${JSON.stringify(secret.replaceAll(PASSWORD, "…"))}`, () => {
		for (const text of [secret, `cannot read ${secret}: no such file`, `${secret} and ${secret}`])
			assert.ok(!masked(text).includes(PASSWORD), masked(text));
	});

test("masked keeps what is harmless, and takes time in proportion to the length", () => {
	for (const text of [
		"postgres://***@host:5432/db?namespace=x&sslmode=require",
		"C:\\logs\\run.jsonl:2: expected a row",
		"npm install @knowledgepulse/scoring-stores pg",
	])
		assert.equal(masked(text), text);
	for (const part of ["ab://x", "a:b@", "x='", "a=b&", "?"]) masked(part.repeat(1_000_000));
});

test("kp-score masks user information in misplaced arguments", async () => {
	const url = `postgres://user:my\u2028${PASSWORD}@x@host/db`;
	for (const args of [[url], ["score", url], ["score", "one.jsonl", `--stroe=${url}`]]) {
		const { stderr } = await assertEnds(2, args);
		assert.match(stderr, /postgres:\/\/\*\*\*@host/);
		assert.ok(!stderr.includes(PASSWORD), stderr);
	}
});

test("kp-score connects to PostgreSQL however the scheme is written", async () => {
	const url = `Postgres://user:${PASSWORD}@127.0.0.1:1/db`;
	const { stderr } = await assertEnds(4, ["score", "one.jsonl", "--store", url]);
	assert.match(stderr, /ECONNREFUSED/);
	assert.ok(!stderr.includes(PASSWORD), stderr);
});

test("kp-score takes the store from KP_SCORE_STORE", async () => {
	const env = { ...process.env, KP_SCORE_STORE: "sqlite:environment.db?create=1" };
	await assertEnds(0, ["score", "one.jsonl"], { env });
	assert.equal(entriesOf("environment.db"), 1);
	await assertEnds(0, ["score", "one.jsonl", "--memory", "own.kpcache"], { env });
	assert.equal(entriesOf("environment.db"), 1);
});

test("kp-score continues from a snapshot of its store", async () => {
	const options = ["--store", "sqlite:resumed.db?create=1", "--memory", "resumed.kpcache"];
	const scored = async (command) => (await rowsOf([command, "one.jsonl", ...options]))[0];
	assert.equal((await scored("score")).similarity, null);
	assert.equal(await scored("score"), undefined);
	assert.equal(entriesOf("resumed.db"), 1);
	// It reads a copy, and explains the score that the run has got.
	const { report } = await scored("explain");
	assert.equal(report.novelty.source, "empty-cache");
	assert.equal(entriesOf("resumed.db"), 1);
});

test("kp-score creates no database unless the URL has create=1", async () => {
	const args = (url) => ["score", "one.jsonl", "--store", url];
	const { stderr } = await assertEnds(2, args("sqlite:absent.db"));
	assert.match(stderr, /absent\.db.*create=1/);
	assert.ok(!existsSync(join(folder, "absent.db")));
	await assertEnds(0, args("sqlite:absent.db?create=1&namespace=x"));
	await assertEnds(0, args("sqlite:absent.db?namespace=x"));
});

/** Only later versions of Node.js can parse file URLs of another system. */
const canChoose = fileURLToPath("file:///C:/x", { windows: true }) === "C:\\x";

for (const [place, windows, path] of [
	["novelty.db", false, "novelty.db"],
	["/var/novelty.db", false, "/var/novelty.db"],
	["///var/a%20b#c.db", false, "/var/a b#c.db"],
	["C:\\data\\novelty.db", true, "C:\\data\\novelty.db"],
	["///C:/data/novelty.db", true, "C:\\data\\novelty.db"],
	["//server/share/novelty.db", true, "\\\\server\\share\\novelty.db"],
])
	test(
		`a store URL with sqlite:${place} names ${path}${windows ? " on Windows" : ""}`,
		{
			skip: windows !== (process.platform === "win32") && !canChoose,
		},
		() => assert.equal(fileOf(place, windows), path),
	);

test("a store URL with the host of another computer names no file", () => {
	assert.throws(() => fileOf("//novelty.db", false), /^Error: store URL: File URL host/);
});

test("kp-score score --store -o gives each row once after it was killed, with more runs than are compared", async (t) => {
	if (process.platform === "win32") return t.skip("no signals");
	const count = 6000;
	const runs = Array.from({ length: count }, (_, n) => traceOf(n));
	file("whole.jsonl", linesOf([...runs, runs[20]]));
	const store = ["--store", "sqlite:killed.db?create=1", "--novelty", "words"];
	const args = ["score", "whole.jsonl", ...store, "-o", "killed.jsonl"];
	const sizeOf = (name) => statSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0;
	// The second time, it is killed while it goes on.
	for (const share of [0.2, 0.5]) {
		const child = start(args);
		const ended = endOf(child);
		const isEarly = () => sizeOf("killed.jsonl.partial") < share * 500 * count;
		while (child.exitCode === null && isEarly()) await sleep(1);
		child.kill("SIGKILL");
		assert.equal((await ended).signal, "SIGKILL");
		assert.ok(!existsSync(join(folder, "killed.jsonl")));
	}
	await assertEnds(0, args);
	// Entries have left the window meanwhile, so runs without a row are compared with fewer.
	assert.deepEqual(
		parsed(readFileSync(join(folder, "killed.jsonl"), "utf8")).map(({ id }) => id),
		runs.map(({ id }) => id),
	);
	assert.equal(entriesOf("killed.db"), count);
	assert.deepEqual(
		readdirSync(folder).filter((name) => name.startsWith("killed.jsonl")),
		["killed.jsonl"],
	);
});

test("kp-score score --store -o goes on after an error", async () => {
	const args = [
		"score",
		"broken.jsonl",
		"--store",
		"sqlite:broken.db?create=1",
		"-o",
		"mended.jsonl",
	];
	file("broken.jsonl", `${linesOf([1, 2].map((n) => traceOf(n)))}{"no json\n`);
	await assertEnds(2, args);
	file("broken.jsonl", linesOf([1, 2, 3].map((n) => traceOf(n))));
	await assertEnds(0, args);
	const rows = parsed(readFileSync(join(folder, "mended.jsonl"), "utf8"));
	assert.deepEqual(
		rows.map(({ id }) => id),
		["t:1", "t:2", "t:3"],
	);
	assert.equal(entriesOf("broken.db"), 3);
});

test("kp-score explain, compare and calibrate leave a store as it is", async () => {
	const store = ["--store", "sqlite:peeked.db?create=1"];
	await assertEnds(0, ["score", "first.jsonl", ...store]);
	for (const args of [
		["explain", "second.jsonl"],
		["compare", "first.jsonl", "second.jsonl"],
		["calibrate", "second.jsonl"],
	]) {
		const found = async () =>
			(await rowsOf([...args, ...store])).map((value) => {
				delete value.report?.timesMs;
				delete value.report?.text;
				return value;
			});
		assert.deepEqual(await found(), await found());
		assert.equal(entriesOf("peeked.db"), 4);
	}
});

test("kp-score explain finds what score finds with a store of many entries", async () => {
	file("many.jsonl", linesOf(Array.from({ length: 600 }, (_, n) => traceOf(n))));
	const store = ["--store", "sqlite:same.db?create=1", "--precision", "fast"];
	await assertEnds(0, ["score", "many.jsonl", ...store]);
	const explained = await rowsOf(["explain", "second.jsonl", ...store]);
	const scored = await rowsOf(["score", "second.jsonl", "--again", ...store]);
	const found = explained.map(({ report }) => [report.score, report.novelty.nearest]);
	const expected = scored.map(({ score, nearest }) => [score, nearest]);
	assert.deepEqual(found, expected);
});

test("kp-score takes the bounds of the namespace of its store", async () => {
	const store = new SqliteStore({ path: join(folder, "bounds.db"), namespace: "wide" });
	const scorer = new Scorer({ store, cache: { maxElements: 100_000, ttlMs: 9e9 } });
	await scorer.remember(traceOf(1));
	scorer.close();
	await store.close();
	const url = ["--store", "sqlite:bounds.db?namespace=wide"];
	const explained = await rowsOf(["explain", "second.jsonl", ...url]);
	const scored = await rowsOf(["score", "second.jsonl", "--again", ...url]);
	assert.deepEqual(
		explained.map(({ report }) => report.score),
		scored.map(({ score }) => score),
	);
	assert.equal(entriesOf("bounds.db"), 4);
});

test("kp-score says that a store does not answer", async (t) => {
	const store = ["--novelty", "words", "--store", "sqlite:locked.db"];
	const url = store.with(3, "sqlite:locked.db?create=1");
	await assertEnds(0, ["store", "init", "--max-elements", "5", ...url]);
	const db = new DatabaseSync(join(folder, "locked.db"));
	t.after(() => db.close());
	db.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT");
	const { stderr } = await assertEnds(4, ["score", "one.jsonl", ...store]);
	assert.match(stderr, /^error: the store is unavailable: it did not answer in time$/m);
});

test("kp-score explain, compare and calibrate create no namespace and no database", async () => {
	await assertEnds(0, ["score", "one.jsonl", "--store", "sqlite:read.db?create=1"]);
	for (const args of [
		["explain", "one.jsonl"],
		["compare", "one.jsonl", "first.jsonl"],
	])
		for (const url of ["sqlite:read.db?namespace=typo", "sqlite:unread.db?create=1"]) {
			const { stderr } = await assertEnds(0, [...args, "--novelty", "words", "--store", url]);
			assert.match(
				stderr,
				/^warning: the store has no such namespace yet: .*compared with nothing/m,
			);
		}
	const db = new DatabaseSync(join(folder, "read.db"));
	assert.deepEqual(
		db
			.prepare("SELECT name FROM novelty_head")
			.all()
			.map(({ name }) => name),
		["default"],
	);
	db.close();
	assert.ok(!existsSync(join(folder, "unread.db")));
});

test("kp-score explain compares with a copy of its store, which may be empty", async () => {
	const store = ["--store", "sqlite:copied.db?create=1"];
	const found = async () =>
		(await rowsOf(["explain", "first.jsonl", ...store])).map(({ report: { novelty } }) => [
			novelty.source,
			novelty.nearest,
			novelty.seq,
		]);
	const [first, second] = await found();
	assert.deepEqual(
		[first, second],
		[
			["empty-cache", null, null],
			["cache", "t:1", null],
		],
	);
	file("other.jsonl", linesOf([{ ...traceOf(1), id: "t:other" }]));
	await assertEnds(0, ["score", "other.jsonl", ...store]);
	assert.deepEqual((await found())[0], ["cache", "t:other", null]);
});

test("kp-score loads the package of the stores from beside itself, never from the working directory", async () => {
	const modules = join(folder, "elsewhere", "node_modules");
	const own = join(modules, "@knowledgepulse", "scoring-cli");
	for (const part of ["bin", "lib", "package.json"])
		cpSync(fileURLToPath(new URL(`../${part}`, import.meta.url)), join(own, part), {
			recursive: true,
		});
	const install = (name, place) => {
		mkdirSync(dirname(join(place, name)), { recursive: true });
		const installed = require.resolve.paths(name).map((path) => join(path, name));
		symlinkSync(installed.find(existsSync), join(place, name), "junction");
	};
	for (const name of ["@knowledgepulse/scoring", "commander", "csv-parse", "tinyglobby"])
		install(name, modules);
	const project = join(folder, "project");
	file(
		"project/node_modules/@knowledgepulse/scoring-stores/sqlite.js",
		'require("node:fs").writeFileSync("planted", "")',
	);
	file("project/node_modules/@knowledgepulse/scoring-stores/package.json", "{}");
	const run = () => {
		const args = ["score", join(folder, "one.jsonl"), "--store", "sqlite:s.db?create=1"];
		const script = join(own, "bin", "kp-score.js");
		return endOf(spawn(process.execPath, [script, ...args, "--embedder", "off"], { cwd: project }));
	};
	const without = await run();
	assert.equal(without.code, 2);
	assert.match(
		without.stderr,
		/beside kp-score: npm install @knowledgepulse\/scoring-stores @photostructure\/sqlite,/,
	);
	install("@knowledgepulse/scoring-stores", modules);
	const { code, stdout, stderr } = await run();
	assert.equal(code, 0, stderr);
	assert.equal(parsed(stdout)[0].id, "t:1");
	assert.ok(!existsSync(join(project, "planted")));
});
