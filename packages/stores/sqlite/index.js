/** A store in an SQLite file. This thread only passes messages: SQLite runs in `worker.js`. */
const { join, resolve } = require("node:path");
const { Worker } = require("node:worker_threads");
const { ScoringError } = require("@knowledgepulse/scoring");
const { kind, required } = require("@knowledgepulse/scoring/internal/options");
const { until } = require("@knowledgepulse/scoring/internal/signals");
const { pack, unpack } = require("../entries.js");
const { SHARED, checkIds, readStoreOptions } = require("../options.js");

const SQLITE = "@photostructure/sqlite";

// `:memory:` would be a store that nothing shares, and one letter before `://` is a Windows drive.
const isPath = (value) => typeof value === "string" && !/^(:memory:)?$|\0|\w\w:\/\//.test(value);

const OPTIONS = { path: required(kind("the path of a file", isPath)), ...SHARED };

/** Throws an error that says what to install. The thread loads the module. */
function checkInstalled() {
	try {
		require.resolve(SQLITE);
	} catch (cause) {
		throw new ScoringError(`SqliteStore needs the package ${SQLITE}: npm install ${SQLITE}`, {
			code: "STORE_UNAVAILABLE",
			cause,
		});
	}
}

class SqliteStore {
	#options;
	#worker = null;
	/** Calls that wait for an answer of the thread, by number. */
	#calls = new Map();
	#made = 0;
	#closing = null;

	constructor(options) {
		const given = readStoreOptions(options, OPTIONS);
		this.#options = { ...given, path: resolve(given.path) };
		checkInstalled();
		// Now, so that it is ready for the first call.
		this.#worker = this.#start();
	}

	async append(entries, { header, after, limit, signal, keepFrom }) {
		checkIds(entries);
		const request = { header, after, limit, keepFrom, ...pack(entries) };
		return this.#call(request, signal);
	}

	async read({ header, after, limit, signal }) {
		return this.#call({ header, after, limit }, signal);
	}

	close() {
		this.#closing ??= this.#close();
		return this.#closing;
	}

	async #call(request, signal) {
		signal.throwIfAborted();
		if (this.#closing) throw this.#closed();
		this.#worker ??= this.#start();
		const worker = this.#worker;
		const number = ++this.#made;
		// Tells the thread to stop; it cannot read messages while it waits for the lock.
		const stop = new Int32Array(new SharedArrayBuffer(4));
		const answered = new Promise((resolve, reject) => {
			this.#calls.set(number, { resolve, reject, stop });
		});
		worker.ref();
		try {
			const transfer = request.bytes ? [request.bytes.buffer] : [];
			worker.postMessage({ number, stop, ...request }, transfer);
			const { page, error } = await until(signal, answered);
			if (error) throw this.#error(error.code, error.message, error.cause);
			const { json, bytes, ...rest } = page;
			return { ...rest, entries: unpack(json, bytes) };
		} finally {
			end(stop);
			this.#calls.delete(number);
			// `close` waits for the thread.
			if (this.#calls.size === 0 && !this.#closing) worker.unref();
		}
	}

	#start() {
		const workerData = this.#options;
		const worker = new Worker(join(__dirname, "worker.js"), { name: "novelty store", workerData });
		worker.on("message", ({ number, ...answer }) => this.#calls.get(number)?.resolve(answer));
		worker.on("error", (cause) => this.#lose(worker, cause));
		worker.on("exit", () => this.#lose(worker));
		// Last, because a listener of messages keeps the process alive again.
		worker.unref();
		return worker;
	}

	/** The next call starts another thread. */
	#lose(worker, cause) {
		if (this.#worker !== worker) return;
		this.#worker = null;
		const error = this.#closing
			? this.#closed(cause)
			: this.#error("STORE_UNAVAILABLE", "its thread has ended", cause);
		for (const { reject } of this.#calls.values()) reject(error);
	}

	async #close() {
		const worker = this.#worker;
		if (!worker) return;
		for (const { stop } of this.#calls.values()) end(stop);
		const ended = new Promise((resolve) => worker.once("exit", resolve));
		worker.ref();
		worker.postMessage(null);
		await ended;
	}

	#closed(cause = undefined) {
		return this.#error("CLOSED", "the store is closed", cause);
	}

	#error(code, message, cause) {
		const { path } = this.#options;
		return new ScoringError(`${path}: ${message}`, { code, path, ...(cause && { cause }) });
	}
}

function end(stop) {
	Atomics.store(stop, 0, 1);
	Atomics.notify(stop, 0);
}

exports.SqliteStore = SqliteStore;
