/** Queries on a pool, which end when a signal is aborted. */

/**
 * Settles as `promise` does, or rejects with the reason of the signal as soon as it is aborted; then
 * `onAbort` is called.
 */
function orAborted(promise, signal, onAbort) {
	if (!signal) return promise;
	return new Promise((resolve, reject) => {
		const abort = () => {
			onAbort();
			reject(signal.reason);
		};
		signal.addEventListener("abort", abort, { once: true });
		promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
	});
}

function ignore() {}

/**
 * Calls `work` with a client of the pool. The pool gets the client back when `work` is done; if `work`
 * fails or the signal is aborted, the connection is closed, so that nobody waits for its server.
 */
async function withClient(pool, signal, work) {
	signal?.throwIfAborted();
	const connecting = pool.connect();
	const client = await orAborted(connecting, signal, () => {
		connecting.then((late) => late.release(), ignore);
	});
	// A client in use reports a lost connection as an event as well.
	client.on?.("error", ignore);
	let broken = true;
	try {
		const result = await orAborted(work(client), signal, ignore);
		broken = false;
		return result;
	} finally {
		if (!broken) client.off?.("error", ignore);
		client.release(broken);
	}
}

module.exports = { withClient };
