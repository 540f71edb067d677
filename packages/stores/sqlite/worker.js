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

/** Returns the page for a request, packed; undefined if nobody waits for it. */
function answer({ stop, json, bytes, header: { model, maxElements, ttlMs }, ...options }) {
	const request = {
		...options,
		entries: json && unpack(json, bytes),
		// Normalised, to compare it with that of the namespace.
		header: JSON.stringify({ model, maxElements, ttlMs }),
	};
	const found = whenUnlocked(stop, () => {
		store ??= new Namespace(openFile(path), workerData);
		return json ? store.append(request) : store.read(request);
	});
	if (!found) return undefined;
	const { rows, ...page } = found;
	return { ...page, ...pack(rows) };
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
		const page = answer(request);
		if (page) parentPort.postMessage({ number, page }, [page.bytes.buffer]);
	} catch (thrown) {
		try {
			close();
		} catch {
			// The first error says why.
		}
		parentPort.postMessage({ number, error: describe(path, thrown) });
	}
});
