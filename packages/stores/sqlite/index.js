/** A store in an SQLite file. This thread only passes messages: SQLite runs in `worker.js`, so that nothing blocks the event loop. */
const { fork } = require("node:child_process");
const { isBuiltin } = require("node:module");
const { join, resolve } = require("node:path");
const { Worker } = require("node:worker_threads");
const { ScoringError } = require("@knowledgepulse/scoring");
const { kind, required } = require("@knowledgepulse/scoring/internal/options");
const { until } = require("@knowledgepulse/scoring/internal/signals");
const { pack, unpack } = require("../entries.js");
const { SHARED, checkIds, readRemoval, readSignal, readStoreOptions } = require("../options.js");
const { HAS_SQLITE } = require("./file.js");

const SQLITE = "@photostructure/sqlite";

// `:memory:` would be a store that nothing shares, and one letter before `://` is a Windows drive.
const isPath = (value) =>
	typeof value === "string" && !/^(:memory:)?$|\0|^(file|sqlite):|\w\w:\/\//i.test(value);

const OPTIONS = { path: required(kind("the path of a file, not a URI", isPath)), ...SHARED };

const FILE = join(__dirname, "worker.js");
/** A variable in the environment of a store's process. */
const MARK = "KNOWLEDGEPULSE_STORE_PROCESS";

/**
 * Whether this executable runs its own program, whatever file it is given: started for a store, it would start another one,
 * without end. Before Node.js 20.12 only the second one can tell.
 */
const isProgram = () =>
	MARK in process.env || (isBuiltin("node:sea") && require("node:sea").isSea());

/** Nothing that the application preloads, except for Yarn's way to find files. */
function inherited(...own) {
	const { NODE_OPTIONS, ...env } = process.env;
	const pnp = process.versions.pnp ? ["--require", require.resolve("pnpapi")] : [];
	// `node:sqlite` says that it is experimental.
	return { execArgv: [...pnp, ...own], env: { ...env, NODE_NO_WARNINGS: "1", [MARK]: "1" } };
}

/** Starts a thread, or a process if there is no such SQLite. `hold(true)` lets it keep this process alive. */
function start() {
	if (HAS_SQLITE) {
		const worker = new Worker(FILE, { name: "novelty store", ...inherited() });
		const hold = (isBusy) => (isBusy ? worker.ref() : worker.unref());
		return { port: worker, post: (...message) => worker.postMessage(...message), hold };
	}
	const stdio = ["ignore", "ignore", "inherit", "ipc"];
	const options = { serialization: "advanced", stdio, windowsHide: true };
	const child = fork(FILE, { ...inherited("--expose-gc"), ...options });
	const hold = (isBusy) => {
		for (const handle of [child, child.channel]) isBusy ? handle?.ref() : handle?.unref();
	};
	// A lost connection is reported as its end.
	return { port: child, post: (message) => child.send(message, () => {}), hold };
}

/** Throws an error that says what to install. */
function checkInstalled() {
	if (HAS_SQLITE) return;
	const failure = (text, cause) =>
		new ScoringError(`SqliteStore needs Node.js 22.16 or later${text}`, {
			code: "STORE_UNAVAILABLE",
			...(cause && { cause }),
		});
	if (isProgram())
		throw failure(` in an executable that holds its program, such as ${process.execPath}`);
	try {
		require.resolve(SQLITE);
	} catch (cause) {
		throw failure(`, or the package ${SQLITE}: npm install ${SQLITE}`, cause);
	}
}

class SqliteStore {
	#options;
	/** The thread, from the first call. */
	#thread = null;
	/** Calls that wait for an answer of the thread, by number. */
	#calls = new Map();
	#made = 0;
	#closing = null;

	constructor(options) {
		const given = readStoreOptions(options, OPTIONS);
		this.#options = { ...given, path: resolve(given.path) };
		checkInstalled();
	}

	async append(entries, { header, after, limit, signal, keepFrom }) {
		checkIds(entries);
		const request = { header, after, limit, keepFrom, ...pack(entries) };
		return this.#page("append", request, signal);
	}

	async read({ header, after, limit, signal }) {
		return this.#page("read", { header, after, limit }, signal);
	}

	async namespaces(options) {
		return this.#call("namespaces", {}, readSignal(options));
	}

	async forgetBefore(date, options) {
		const signal = readRemoval("date", date, options);
		return this.#call("forgetBefore", { before: date.getTime() }, signal);
	}

	async drop(namespace, options) {
		const signal = readRemoval("namespace", namespace, options);
		return this.#call("drop", { name: namespace }, signal);
	}

	async header({ signal }) {
		return this.#call("header", {}, signal);
	}

	close() {
		this.#closing ??= this.#close();
		return this.#closing;
	}

	async #page(...call) {
		const { json, bytes, ...page } = await this.#call(...call);
		return { ...page, entries: unpack(json, bytes) };
	}

	async #call(method, request, signal) {
		signal?.throwIfAborted();
		if (this.#closing) throw this.#closed();
		this.#thread ??= this.#start();
		const { post, hold } = this.#thread;
		const number = ++this.#made;
		const answered = new Promise((resolve, reject) => {
			this.#calls.set(number, { resolve, reject });
		});
		hold(true);
		try {
			const transfer = request.bytes ? [request.bytes.buffer] : [];
			post({ number, method, ...this.#options, ...request }, transfer);
			const { result, error } = await until(signal, answered);
			if (error) throw this.#error(error.code, error.message, error.cause);
			return result;
		} finally {
			this.#calls.delete(number);
			if (signal?.aborted) post({ number, method: "stop" });
			// `close` waits for the thread.
			if (this.#calls.size === 0 && !this.#closing) hold(false);
		}
	}

	#start() {
		const thread = start();
		const { port, hold } = thread;
		port.on("message", ({ number, ...answer }) => this.#calls.get(number)?.resolve(answer));
		port.on("error", (cause) => this.#lose(thread, cause));
		port.on("exit", () => this.#lose(thread));
		// Last, because a listener of messages keeps the process alive again.
		hold(false);
		return thread;
	}

	/** The next call starts another thread. */
	#lose(thread, cause) {
		if (this.#thread !== thread) return;
		this.#thread = null;
		const error = this.#closing
			? this.#closed(cause)
			: this.#error("STORE_UNAVAILABLE", "its thread has ended", cause);
		for (const { reject } of this.#calls.values()) reject(error);
	}

	async #close() {
		if (!this.#thread) return;
		const { port, post, hold } = this.#thread;
		const ended = new Promise((resolve) => port.once("exit", resolve).once("error", resolve));
		hold(true);
		post({ method: "close" });
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

exports.SqliteStore = SqliteStore;
