/** Queries on a pool, which end when a signal is aborted. */

const { until } = require("@knowledgepulse/scoring/internal/signals");

function ignore() {}

/** How many stores use a pool: one listener serves them all. */
const users = new WeakMap();

/**
 * Keeps the loss of an idle connection, which the pool replaces, from ending the process. Returns what
 * takes that back.
 */
function guard(pool) {
	const change = (by) => {
		const count = (users.get(pool) ?? 0) + by;
		users.set(pool, count);
		return count;
	};
	if (change(1) === 1) pool.on("error", ignore);
	return () => {
		if (change(-1) === 0) pool.off("error", ignore);
	};
}

/** Returns a client. The loss of its connection while it is in use does not end the process either. */
function connect(pool) {
	return new Promise((resolve, reject) => {
		// The promise of `pool.connect` leaves time for an error to come before there is a listener.
		pool.connect((error, client) => {
			if (error) return reject(error);
			client.on("error", ignore);
			resolve(client);
		});
	});
}

function release(client, broken) {
	if (!broken) client.off("error", ignore);
	client.release(broken);
}

/**
 * Calls `work` with a client of the pool. The pool gets the client back when `work` is done; if `work`
 * fails or the signal is aborted, the connection is closed, so that nobody waits for its server.
 */
async function withClient(pool, signal, work) {
	signal?.throwIfAborted();
	const connecting = connect(pool);
	const client = await until(signal, connecting).catch((error) => {
		// A client that comes too late.
		connecting.then((late) => release(late, false), ignore);
		throw error;
	});
	// Values are read as text, whatever the pool asks for.
	const { binary } = client;
	client.binary = false;
	let broken = true;
	try {
		const result = await until(signal, work(client));
		broken = false;
		return result;
	} finally {
		client.binary = binary;
		release(client, broken);
	}
}

module.exports = { guard, withClient };
