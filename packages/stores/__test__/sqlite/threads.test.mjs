/** What runs SQLite beside the caller's thread: what it inherits, and that it never ends the process. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire, isBuiltin } from "node:module";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { repeats } from "../../../../__test__/support/draws.mjs";
import { options } from "../../conformance/fixture.js";
import file from "../../sqlite/file.js";
import { temporaryFile } from "./files.mjs";

const TIMES = repeats(20);
const { signal, ...call } = options({ keepFrom: null });
const SQLITE = createRequire(import.meta.url).resolve("@knowledgepulse/scoring-stores/sqlite");

/** Makes a store that is appended to for ever; calls `begun` after the first answer. */
const BUSY = `
	const { randomUUID } = require("node:crypto");
	const { SqliteStore } = require(${JSON.stringify(SQLITE)});
	const { path, call, random = 0 } = input;
	const { signal } = new AbortController();
	const add = () => ({ kind: "add", call: randomUUID(), id: null, embedding: new Uint8Array(1536) });
	function busy(begun) {
		const store = new SqliteStore({ path });
		const options = { ...call, signal };
		const append = () => store.append([add(), add()], options).then((page) => {
			begun?.();
			begun = null;
			append();
		});
		for (let loops = 0; loops < 4; loops++) append();
	}`;

function run(source, { input, args = [], env }) {
	const program = `const input = ${JSON.stringify(input)};\n${source}`;
	const { NODE_OPTIONS, ...rest } = process.env;
	const { status, signal, stdout, stderr } = spawnSync(process.execPath, [...args, "-e", program], {
		encoding: "utf8",
		env: { ...rest, ...env },
		timeout: 120_000,
	});
	return { status, signal, stdout, stderr };
}

for (const way of ["--require", "--import", "NODE_OPTIONS"])
	test(`SqliteStore made in a file that ${way} preloads runs that file once`, () => {
		const path = temporaryFile();
		const log = join(dirname(path), "runs");
		const preloaded = join(dirname(path), "preloaded.cjs");
		writeFileSync(
			preloaded,
			`const { appendFileSync, readFileSync } = require("node:fs");
			const log = ${JSON.stringify(log)};
			appendFileSync(log, "run ");
			// Not without end, should it fail.
			if (readFileSync(log, "utf8").length < 20) {
				const { SqliteStore } = require(${JSON.stringify(SQLITE)});
				const store = new SqliteStore({ path: ${JSON.stringify(path)} });
				const { signal } = new AbortController();
				globalThis.page = store.read({ ...${JSON.stringify(call)}, signal });
				void globalThis.page.then(() => store.close());
			}`,
		);
		const args =
			way === "--import" ? [way, pathToFileURL(preloaded).href] : ["--require", preloaded];
		const given =
			way === "NODE_OPTIONS" ? { env: { NODE_OPTIONS: `--require "${preloaded}"` } } : { args };
		const ended = run("globalThis.page.then(({ head }) => console.log(head))", given);
		assert.deepEqual(ended, { status: 0, signal: null, stdout: "0\n", stderr: "" });
		assert.equal(readFileSync(log, "utf8"), "run ");
	});

const inThread = file.HAS_SQLITE && "SQLite runs in a thread";

test("SqliteStore in an executable that runs its own program does not start it without end", {
	skip: inThread || process.platform === "win32",
}, () => {
	const path = temporaryFile();
	const log = join(dirname(path), "starts");
	const program = join(dirname(path), "program");
	writeFileSync(
		program,
		`#!${process.execPath}
		const { appendFileSync, readFileSync } = require("node:fs");
		const log = ${JSON.stringify(log)};
		appendFileSync(log, "start ");
		process.execPath = __filename;
		// Not without end, should it fail.
		if (readFileSync(log, "utf8").length > 60) process.exit(7);
		const { SqliteStore } = require(${JSON.stringify(SQLITE)});
		const { signal } = new AbortController();
		const store = new SqliteStore({ path: ${JSON.stringify(path)} });
		store.read({ ...${JSON.stringify(call)}, signal }).catch(({ code }) => console.log(code));`,
	);
	chmodSync(program, 0o755);
	const { stdout, stderr } = spawnSync(program, { encoding: "utf8", timeout: 60_000 });
	assert.equal(stdout, "STORE_UNAVAILABLE\n", stderr);
	assert.match(stderr, /needs Node\.js 22\.16 or later in an executable .*program/);
	assert.equal(readFileSync(log, "utf8"), "start start ");
});

test("SqliteStore in a single executable of Node.js refuses to start it", {
	skip: inThread || (!isBuiltin("node:sea") && "Node.js cannot tell"),
}, () => {
	const source = `require("node:sea").isSea = () => true;
		const { SqliteStore } = require(${JSON.stringify(SQLITE)});
		try { new SqliteStore({ path: "none.db" }); } catch ({ code, message }) { console.log(code, message); }`;
	const message = `SqliteStore needs Node.js 22.16 or later in an executable that holds its program, such as ${process.execPath}`;
	assert.equal(run(source, {}).stdout, `STORE_UNAVAILABLE ${message}\n`);
});

test("SqliteStore in a worker that is terminated at any moment does not end the process", () => {
	const source = `
		const { Worker, isMainThread, parentPort } = require("node:worker_threads");
		const worker = ${JSON.stringify(BUSY)} + "busy(() => require('node:worker_threads').parentPort.postMessage(null));";
		(async () => {
			for (let i = 0; i < ${TIMES}; i++) {
				const one = new Worker("const input = " + JSON.stringify(input) + ";" + worker, { eval: true });
				await new Promise((resolve) => one.once("message", resolve));
				const end = performance.now() + Math.random() * 20;
				while (performance.now() < end) await new Promise(setImmediate);
				await one.terminate();
			}
			console.log("survived");
		})();`;
	const ended = run(source, { input: { path: temporaryFile(), call } });
	assert.deepEqual(ended, { status: 0, signal: null, stdout: "survived\n", stderr: "" });
});

test("SqliteStore in a process that exits at any moment lets it exit", () => {
	const path = temporaryFile();
	for (let i = 0; i < TIMES / 2; i++) {
		const input = { path, call, random: Math.random() * 20 };
		const source = `${BUSY} busy(() => setTimeout(() => process.exit(3), random));`;
		const ended = run(source, { input });
		assert.deepEqual(ended, { status: 3, signal: null, stdout: "", stderr: "" });
	}
});
