import assert from "node:assert/strict";
import { constants } from "node:buffer";
import { spawnSync } from "node:child_process";
import { getEventListeners, once } from "node:events";
import {
	createReadStream,
	createWriteStream,
	readdirSync,
	readlinkSync,
	renameSync,
	writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { Readable } from "node:stream";
import { describe, test } from "node:test";
import { setTimeout as sleep, setImmediate as turn } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { Scorer } from "@knowledgepulse/scoring";
import { importTraces, toMessages } from "@knowledgepulse/scoring/logs";
import { repeats } from "../support/draws.mjs";
import { all, assumed, chunked, conversation, lines, summaryOf } from "../support/imports.mjs";
import { temporaryFolder } from "../support/model-folder.mjs";

const { native } = createRequire(import.meta.url)("../../lib/native.js");

const three = [lines("one"), lines("two"), lines("three")];

/** A file with three runs, for the test `t`. */
function file(t) {
	const path = join(temporaryFolder(t), "log.jsonl");
	writeFileSync(path, three.join(""));
	return path;
}

/** Whether this process has a file open; undefined if unknown. */
function isOpen(path) {
	if (process.platform !== "linux") return undefined;
	return readdirSync("/proc/self/fd").some((fd) => {
		try {
			return readlinkSync(`/proc/self/fd/${fd}`) === path;
		} catch {
			return false;
		}
	});
}

/** A web stream with these chunks that never ends. */
function webStream(...chunks) {
	const state = { isCancelled: false };
	const stream = new ReadableStream({
		start: (controller) => {
			for (const chunk of chunks) controller.enqueue(Buffer.from(chunk));
		},
		cancel: () => {
			state.isCancelled = true;
		},
	});
	return Object.assign(stream, { state });
}

/** A Node.js stream with these chunks that never ends. */
function nodeStream(...chunks) {
	const stream = new Readable({ read() {} });
	for (const chunk of chunks) stream.push(chunk);
	return stream;
}

test("importTraces reads nothing before the first item is asked for", async () => {
	const stream = chunked(three);
	const imported = importTraces([stream, "nowhere.jsonl"], assumed);
	await sleep(10);
	assert.equal(stream.state.read, 0);
	assert.deepEqual(imported.report, { inputs: [] });
	await imported.return();
});

test("importTraces reads one chunk ahead of what is asked for", async () => {
	const stream = chunked(three.map((chunk) => chunk + "\n".repeat(2 ** 16)));
	const imported = importTraces(stream, assumed);
	for (const read of [2, 3, 3]) {
		await imported.next();
		await sleep(10);
		assert.equal(stream.state.read, read);
	}
	assert.deepEqual(await imported.next(), { done: true, value: undefined });
});

test("importTraces joins short chunks, and fails after the traces before an error", async () => {
	const pieces = [...three.join("")];
	const gone = new Error("the disk is gone");
	async function* failing() {
		yield* pieces;
		throw gone;
	}
	const imported = importTraces([failing(), three[0]], assumed);
	for (const objective of ["one", "two", "three"])
		assert.equal((await imported.next()).value.trace.task.objective, objective);
	await assert.rejects(imported.next(), gone);
	assert.equal((await imported.next()).done, true);
});

test("importTraces answers calls of next() in their order", async () => {
	const imported = importTraces(three.join(""), assumed);
	const calls = Array.from({ length: 5 }, () => imported.next());
	const found = (await Promise.all(calls)).map(({ value }) => value?.trace.task.objective);
	assert.deepEqual(found, ["one", "two", "three", undefined, undefined]);
});

test("importTraces has a report at any time", async () => {
	const imported = importTraces([three.join(""), chunked(three)], assumed);
	const counts = () => imported.report.inputs.map(({ traces }) => traces);
	assert.deepEqual(counts(), []);
	await imported.next();
	assert.equal(counts().length, 1);
	await all(imported);
	assert.deepEqual(counts(), [3, 3]);
	assert.deepEqual(imported.report.inputs[1], {
		name: "sources[1]",
		formats: ["messages"],
		traces: 3,
		bytes: Buffer.byteLength(three.join("")),
		skipped: {},
		errors: [],
		errorCount: 0,
	});
});

test("importTraces reads input longer than one piece", async (t) => {
	const texts = Array.from({ length: 40 }, (_, n) => `${n} ${"é".repeat(50_000)}`);
	const text = lines(...texts);
	assert.ok(text.length > 2 ** 20 && text.length % 2 ** 20 !== 0);
	const path = join(temporaryFolder(t), "large.jsonl");
	writeFileSync(path, text);
	for (const source of [path, text, Buffer.from(text), chunked([text])])
		assert.deepEqual(await summaryOf(importTraces(source, assumed)), texts);
});

describe("importTraces that ends early", () => {
	/** Ways to end an import after one item, with the expected result. */
	const ways = {
		"by leaving the loop": async (make) => {
			for await (const _ of make({})) break;
		},
		"by an error in the loop": async (make) => {
			const loop = async () => {
				for await (const _ of make({})) throw new Error("mine");
			};
			await assert.rejects(loop(), { message: "mine" });
		},
		"by a signal between items": async (make) => {
			const controller = new AbortController();
			const imported = make({ signal: controller.signal });
			await imported.next();
			controller.abort("enough");
			await assert.rejects(imported.next(), (reason) => reason === "enough");
			assert.equal((await imported.next()).done, true);
			const listeners = getEventListeners(controller.signal, "abort");
			assert.equal(listeners.length, 0);
		},
		"by return() before the first item": async (make) => {
			const imported = make({});
			assert.deepEqual(await imported.return(5), { done: true, value: 5 });
			assert.equal((await imported.next()).done, true);
		},
	};

	for (const [way, end] of Object.entries(ways))
		for (const first of ["file", "stream", "web stream"])
			test(`importTraces closes all sources ${way}, a ${first} first`, async (t) => {
				const path = file(t);
				const [stream, web] = [nodeStream(three[0]), webStream(three[0])];
				const { [first]: one, ...others } = { file: path, stream, "web stream": web };
				const sources = [one, ...Object.values(others)];
				await end((options) => importTraces(sources, { ...assumed, ...options }));
				assert.ok(!isOpen(path) && stream.destroyed && web.state.isCancelled);
			});
});

test("importTraces closes the sources after an error", async () => {
	const streams = [nodeStream("no JSON\n"), nodeStream(), webStream()];
	await assert.rejects(importTraces(streams).next(), { code: "INVALID_JSON" });
	assert.ok(streams[0].destroyed && streams[1].destroyed);
	assert.ok(streams[2].state.isCancelled);
});

for (const [kind, make] of Object.entries({
	"a Node.js stream": nodeStream,
	"a web stream": webStream,
	"a generator": () =>
		(async function* () {
			await new Promise(() => {});
			yield "";
		})(),
})) {
	test(`importTraces need not wait for ${kind} when its signal is aborted`, async () => {
		const controller = new AbortController();
		const { signal } = controller;
		const stream = make();
		const imported = importTraces(stream, { signal });
		const pending = imported.next();
		await sleep(5);
		const reason = new Error("no longer needed");
		controller.abort(reason);
		await assert.rejects(pending, reason);
		assert.equal(getEventListeners(signal, "abort").length, 0);
		assert.ok(stream.destroyed ?? stream.state?.isCancelled ?? true);
	});

	test(`importTraces need not wait for ${kind} when it is ended`, async () => {
		const stream = make();
		const imported = importTraces(stream);
		const pending = imported.next();
		await sleep(5);
		assert.deepEqual(await imported.return(), { done: true, value: undefined });
		assert.deepEqual(await pending, { done: true, value: undefined });
		assert.ok(stream.destroyed ?? stream.state?.isCancelled ?? true);
	});
}

test("importTraces rejects with the reason of a signal that is aborted already", async () => {
	for (const reason of [new Error("no"), "no", 0]) {
		const stream = nodeStream();
		const signal = AbortSignal.abort(reason);
		for (const errors of ["reject", "collect"]) {
			const imported = importTraces(stream, { signal, errors });
			await assert.rejects(imported.next(), (caught) => caught === reason);
		}
		assert.ok(stream.destroyed);
		assert.equal(getEventListeners(signal, "abort").length, 0);
	}
});

test("importTraces can be aborted at any turn of the event loop", async (t) => {
	const path = file(t);
	for (let turns = 0; turns < 60; turns++) {
		const controller = new AbortController();
		const { signal } = controller;
		const stream = nodeStream(...three);
		const found = all(importTraces([path, stream], { ...assumed, signal }));
		for (let count = 0; count < turns; count++) await turn();
		controller.abort();
		await assert.rejects(found, { name: "AbortError" });
		assert.ok(stream.destroyed);
		assert.equal(getEventListeners(signal, "abort").length, 0);
	}
	// The current piece is read completely first.
	for (let waits = 0; isOpen(path) && waits < 100; waits++) await sleep(10);
	assert.ok(!isOpen(path));
});

test("a log that is left half read is closed, whoever still has its iterator", async (t) => {
	const path = join(temporaryFolder(t), "half.jsonl");
	writeFileSync(path, lines(...Array.from({ length: 80 }, (_, n) => `${n} ${"x".repeat(50_000)}`)));
	const warnings = [];
	const onWarning = (warning) => warnings.push(warning);
	process.on("warning", onWarning);
	t.after(() => process.off("warning", onWarning));
	const scorer = new Scorer({ embedder: "off" });
	const ways = [
		() => importTraces(path, assumed).next(),
		() => toMessages(path, assumed).next(),
		() => scorer.evaluateLogs(path, assumed).lines().next(),
		async () => {
			const controller = new AbortController();
			await importTraces(path, { ...assumed, signal: controller.signal }).next();
			controller.abort();
		},
		async () => {
			const closed = new Scorer({ embedder: "off" });
			await closed.evaluateLogs(path, assumed).next();
			closed.close();
		},
	];
	for (let times = repeats(40); times > 0; times--) for (const leave of ways) await leave();
	const kept = importTraces(path, assumed);
	await kept.next();
	for (let waits = 0; isOpen(path) && waits < 100; waits++) await sleep(50);
	assert.ok(!isOpen(path));
	assert.deepEqual(warnings, []);
	// Opened again where it was left.
	assert.equal((await all(kept)).length, 79);
	const replaced = importTraces(path, assumed);
	await replaced.next();
	while (isOpen(path)) await sleep(50);
	writeFileSync(`${path}.new`, "");
	renameSync(`${path}.new`, path);
	await assert.rejects(all(replaced), { code: "ESTALE", path });
});

test("importTraces leaves no listener on its signal, and ignores it after the end", async () => {
	const controller = new AbortController();
	const { signal } = controller;
	const imports = [1, 2, 3].map(() => importTraces(three.join(""), { ...assumed, signal }));
	assert.equal(getEventListeners(signal, "abort").length, 0);
	await Promise.all(imports.map(all));
	assert.equal(getEventListeners(signal, "abort").length, 0);
	controller.abort();
	for (const imported of imports) {
		assert.equal((await imported.next()).done, true);
		assert.equal(imported.report.inputs[0].traces, 3);
	}
});

test("importTraces collects what streams throw, and goes on", async () => {
	const mine = new Error("mine");
	async function* failing() {
		yield three[0];
		yield three[1].trimEnd();
		throw mine;
	}
	const imported = importTraces(
		[failing(), nodeStream().destroy(mine), "nowhere.jsonl", three[2]],
		{ ...assumed, errors: "collect" },
	);
	const items = await all(imported);
	assert.deepEqual(
		items.map(({ trace, error }) => trace?.task.objective ?? error.source),
		["one", "two", "sources[0]", "sources[1]", "nowhere.jsonl", "three"],
	);
	const errors = items.flatMap(({ error }) => error ?? []);
	for (const error of errors) assert.equal(error.code, "UNREADABLE");
	assert.deepEqual(
		errors.map(({ cause }) => cause.code ?? cause),
		[mine, mine, "ENOENT"],
	);
	assert.deepEqual(
		imported.report.inputs.map(({ name, traces, errors }) => [
			name,
			traces,
			errors.map(({ code, line }) => [code, line]),
		]),
		[
			["sources[0]", 2, [["UNREADABLE", null]]],
			["sources[1]", 0, [["UNREADABLE", null]]],
			["nowhere.jsonl", 0, [["UNREADABLE", null]]],
			["sources[3]", 1, []],
		],
	);
});

test("importTraces collects values that are thrown and no errors", async () => {
	const odd = [Symbol("odd"), Object.create(null), undefined, null, { message: Symbol("odd") }];
	for (const thrown of odd) {
		async function* failing() {
			yield three[0];
			throw thrown;
		}
		const imported = importTraces([failing(), three[1]], { ...assumed, errors: "collect" });
		assert.deepEqual(await summaryOf(imported), ["one", "UNREADABLE", "two"]);
	}
});

test("importTraces has an error for a trace that is too long for a string", async (t) => {
	const { LogReader } = native;
	const { next } = LogReader.prototype;
	t.after(() => {
		LogReader.prototype.next = next;
	});
	for (const errors of ["reject", "collect"]) {
		LogReader.prototype.next = async function long() {
			LogReader.prototype.next = next;
			const { lines, ...ready } = await next.call(this);
			const end = constants.MAX_STRING_LENGTH + 1;
			const long = Buffer.alloc(end + 1 + lines.length);
			long[end] = 10;
			lines.copy(long, end + 1);
			return { ...ready, lines: long };
		};
		const imported = importTraces([chunked(three)], { ...assumed, errors });
		if (errors === "collect")
			assert.deepEqual(await summaryOf(imported), ["TOO_LARGE", "one", "two", "three"]);
		else
			await assert.rejects(all(imported), {
				name: "ImportError",
				code: "TOO_LARGE",
				source: "source",
			});
	}
});

test("importTraces survives a stream that fails before its turn", async () => {
	const failing = createReadStream("nowhere.jsonl");
	const closed = new Promise((resolve) => failing.on("close", resolve));
	const imported = importTraces([three.join(""), failing], assumed);
	await imported.next();
	await closed;
	await assert.rejects(all(imported), { code: "ENOENT" });
});

test("importTraces says for a folder and a pattern what finds files", async (t) => {
	const folder = temporaryFolder(t);
	const message = /^[^']*'[^']*'; list files with fs\.readdir\(\) or fs\.glob\(\)$/;
	for (const [path, code] of [
		[folder, "EISDIR"],
		[join(folder, "*.jsonl"), "ENOENT"],
	])
		await assert.rejects(importTraces(path).next(), { code, path, message });
});

test("importTraces ends with its worker", async () => {
	const body = `
		const { parentPort, workerData } = require("node:worker_threads");
		const { importTraces } = require(workerData.entry);
		parentPort.postMessage("begun");
		(async () => {
			for (;;)
				for await (const _ of importTraces(workerData.log, { assumeSuccess: true }));
		})();
	`;
	const entry = createRequire(import.meta.url).resolve("@knowledgepulse/scoring/logs");
	const log = lines(...Array.from({ length: 5000 }, (_, n) => `run ${n}`));
	for (const delay of [0, 5, 20, 50]) {
		const worker = new Worker(body, { eval: true, workerData: { entry, log } });
		await once(worker, "message");
		await sleep(delay);
		assert.equal(await worker.terminate(), 1);
	}
});

test("importTraces does not block the event loop", async () => {
	// Takes long to read, but hardly affects the trace.
	const ballast = { role: "system", content: "x ".repeat(2 ** 24) };
	const messages = [ballast, ...conversation("one")];
	const text = JSON.stringify({ messages });
	let isOver = false;
	const importing = summaryOf(importTraces(Buffer.from(text), assumed)).finally(() => {
		isOver = true;
	});
	let turns = 0;
	for (; !isOver; turns++) await turn();
	assert.equal((await importing).join().slice(0, 9), "one");
	// Each step of the import takes a few.
	assert.ok(turns > 50, `${turns} turns of the event loop`);
});

describe("importTraces of a named pipe", { skip: process.platform === "win32" }, () => {
	/** A named pipe, for the test `t`. */
	function pipe(t) {
		const path = join(temporaryFolder(t), "pipe.jsonl");
		assert.equal(spawnSync("mkfifo", [path]).status, 0);
		return path;
	}

	/** Opens the pipe for writing, as soon as it is read. */
	const writer = (path) => createWriteStream(path);

	test("importTraces waits for a writer, and reads to the end", async (t) => {
		const path = pipe(t);
		const found = summaryOf(importTraces(path, assumed));
		await sleep(50);
		const written = writer(path);
		written.write(three[0]);
		await sleep(50);
		written.end(three[1] + three[2]);
		assert.deepEqual(await found, ["one", "two", "three"]);
	});

	test("importTraces can be left and aborted while a pipe is silent", async (t) => {
		const path = pipe(t);
		const unopened = importTraces(path, assumed);
		const first = unopened.next();
		await sleep(10);
		await unopened.return();
		assert.equal((await first).done, true);

		const opened = importTraces(path, assumed);
		const written = writer(path);
		written.write(three.join(""));
		await opened.next();
		await opened.return();
		const failed = once(written, "error");
		written.write("Nobody reads this.");
		assert.equal((await failed)[0].code, "EPIPE");
	});

	test("importTraces takes no thread of Node.js while pipes are silent", async (t) => {
		const imports = Array.from({ length: 8 }, () => {
			const imported = importTraces(pipe(t), assumed);
			return { imported, first: imported.next() };
		});
		await sleep(50);
		assert.equal((await summaryOf(importTraces(file(t), assumed))).length, 3);
		for (const { imported, first } of imports) {
			await imported.return();
			assert.equal((await first).done, true);
		}
	});
});
