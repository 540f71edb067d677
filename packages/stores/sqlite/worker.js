/** The thread or the process of a store, in which SQLite waits for the disk and the lock of the file. */
const { statSync } = require("node:fs");
const { setInterval } = require("node:timers");
const { setTimeout: sleep } = require("node:timers/promises");
const { parentPort } = require("node:worker_threads");
const { CODES, codeOf, describe, openFile } = require("./file.js");
const { Namespace } = require("./store.js");
const { pack, unpack } = require("../entries.js");

/**
 * Pauses between attempts to get the lock, in milliseconds, randomised so that no process is always
 * late. Others hold the lock for a fraction of the first pause, except in a checkpoint.
 */
const PAUSES = { first: 0.1, last: 5 };
/** How often an idle store looks for its file: nobody can open another one in the place of a deleted file that is open. */
const LOOK_MS = 1000;
const CLOCK = new Int32Array(new SharedArrayBuffer(4));

/** The numbers of requests that somebody waits for. */
const awaited = new Set();
let last = Promise.resolve();
let store = null;
/** What {@link open} has opened. */
let path;
let identity;

const post = parentPort
	? (answer, transfer) => parentPort.postMessage(answer, transfer)
	: (answer) => process.send(answer, () => {});

/** Timers are no shorter than a millisecond. */
const pauseFor = (ms) => (ms < 1 ? Atomics.wait(CLOCK, 0, 0, ms) : sleep(ms));

/** Identifies the file at the path; undefined without one. */
function identityOf() {
	const found = statSync(path, { bigint: true, throwIfNoEntry: false });
	return found && `${found.dev} ${found.ino}`;
}

/** Opens the file, anew if it was deleted or replaced. */
function open(options) {
	({ path } = options);
	const found = identityOf();
	if (store && found !== identity) close();
	store ??= new Namespace(openFile(path), options);
	identity = found ?? identityOf();
}

/** Returns the result of the method of the store that a request names. Throws SQLite's error if the file is locked. */
function resultOf({ method, header: { model, maxElements, ttlMs } = {}, json, bytes, ...options }) {
	open(options);
	const entries = json && unpack(json, bytes);
	// Normalised, to compare it with that of the namespace.
	const header = JSON.stringify({ model, maxElements, ttlMs });
	const result = store[method]({ ...options, header, entries });
	if (!result?.rows) return result;
	const { rows, ...page } = result;
	return { ...page, ...pack(rows) };
}

/** Answers a request as soon as the file is unlocked, unless nobody waits for it any more. */
async function answer(number, request) {
	for (let pause = PAUSES.first; awaited.has(number); pause = Math.min(2 * pause, PAUSES.last))
		try {
			const result = resultOf(request);
			awaited.delete(number);
			post({ number, result }, result?.bytes ? [result.bytes.buffer] : []);
		} catch (error) {
			if (codeOf(error) === CODES.BUSY) await pauseFor(pause * (0.5 + Math.random()));
			else fail(number, error);
		}
}

function fail(number, error) {
	awaited.delete(number);
	post({ number, error: describe(path, error) });
	try {
		close();
	} catch {
		// The first error says why.
	}
}

/** Closes the file. The next call opens it again, for example after a repair. */
function close() {
	const closing = store;
	store = null;
	closing?.close();
	// The addon's statements keep the file open until they are collected.
	globalThis.gc?.();
}

/** Ends when the file is closed. A process must not exit before its end, in which the addon closes its connection. */
function end() {
	awaited.clear();
	close();
	if (parentPort) process.exit();
	else process.disconnect();
}

(parentPort ?? process).on("message", ({ number, ...request }) => {
	if (request.method === "close") return end();
	if (request.method === "stop") return awaited.delete(number);
	awaited.add(number);
	last = last.then(() => answer(number, request));
});

setInterval(() => {
	if (store && identityOf() !== identity) close();
}, LOOK_MS).unref();

if (!parentPort) {
	// Those of a whole group of processes. This one ends with its parent.
	for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => {});
	process.on("disconnect", () => awaited.clear());
}
