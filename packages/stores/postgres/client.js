/** Runs queries on a pool until a signal is aborted. */

const { ignore, until } = require("@knowledgepulse/scoring/internal/signals");

/** The number of stores on each pool, which share one listener. */
const users = new WeakMap();

/**
 * Prevents the loss of an idle connection, which the pool replaces, from ending the process. Returns a
 * function that undoes this.
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

/** Returns a client whose lost connection does not end the process either. */
function connect(pool) {
	return new Promise((resolve, reject) => {
		// A callback, because before a promise resolves an error could come without a listener.
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
 * Calls `work` with a client of the pool, and then releases it. If `work` fails or the signal is
 * aborted, the connection is closed, so that nobody waits for its server.
 */
async function withClient(pool, signal, work) {
	signal?.throwIfAborted();
	const connecting = connect(pool);
	const client = await until(signal, connecting).catch((error) => {
		// Releases a client that comes too late.
		connecting.then((late) => release(late, false), ignore);
		throw error;
	});
	// Values are read as text, whatever the pool's setting.
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
