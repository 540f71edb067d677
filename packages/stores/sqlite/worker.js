/** The thread of a store, in which SQLite waits for the disk and the lock of the file. */
const { parentPort, workerData } = require("node:worker_threads");
const { CODES, codeOf, describe, openFile } = require("./file.js");
const { Namespace } = require("./store.js");
const { pack, unpack } = require("../entries.js");

const { path } = workerData;

/**
 * Pauses between attempts to get the lock, in milliseconds, randomised so that no process is always
 * late. Others hold the lock for a fraction of the first pause, except in a checkpoint.
 */
const PAUSES = { first: 0.1, last: 5 };

let store = null;

/** Calls `run` as soon as the file is unlocked. Returns undefined when told to stop. */
function whenUnlocked(stop, run) {
	for (let pause = PAUSES.first; ; pause = Math.min(2 * pause, PAUSES.last)) {
		if (Atomics.load(stop, 0) !== 0) return undefined;
		try {
			return run();
		} catch (error) {
			if (codeOf(error) !== CODES.BUSY) throw error;
		}
		Atomics.wait(stop, 0, 0, pause * (0.5 + Math.random()));
	}
}

function answer({ stop, json, bytes, header, ...options }) {
	const { model, maxElements, ttlMs } = header;
	const request = {
		...options,
		entries: json && unpack(json, bytes),
		// Normalised, to compare it with that of the namespace.
		header: JSON.stringify({ model, maxElements, ttlMs }),
	};
	const run = () => {
		store ??= new Namespace(openFile(path), workerData);
		return json ? store.append(request) : store.read(request);
	};
	const found = whenUnlocked(stop, run);
	if (!found) return { error: { code: "CLOSED", message: "the store is closed" } };
	const { rows, ...page } = found;
	return { page: { ...page, ...pack(rows) } };
}

/** Closes the file. The next call opens it again, for example after a repair. */
function close() {
	const open = store;
	store = null;
	open?.close();
}

parentPort.on("message", (request) => {
	if (request === null) {
		close();
		parentPort.close();
		return;
	}
	const { number } = request;
	try {
		const { page, error } = answer(request);
		const transfer = page ? [page.bytes.buffer] : [];
		parentPort.postMessage({ number, page, error }, transfer);
	} catch (thrown) {
		const { code, message, cause } = describe(path, thrown);
		try {
			close();
		} catch {
			// The first error says why.
		}
		const { errcode, sqliteCodeName } = cause ?? {};
		const error = {
			code,
			message,
			cause: cause && { message: cause.message, errcode, code: sqliteCodeName },
		};
		parentPort.postMessage({ number, error });
	}
});
