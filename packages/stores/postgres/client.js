/** Runs queries on a pool until a signal is aborted. */

const { ignore, until } = require("@knowledgepulse/scoring/internal/signals");

const LOCK_TIMEOUT_MS = 5000;

/** Pools that have the listener. */
const guarded = new WeakSet();

/**
 * Prevents the loss of an idle connection, which the pool replaces, from ending the process. For good, because
 * connections may still be closing after the end of the last store and of the pool.
 */
function guard(pool) {
	if (!guarded.has(pool)) pool.on("error", ignore);
	guarded.add(pool);
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
	let broken = true;
	try {
		const result = await until(signal, work(client));
		broken = false;
		return result;
	} finally {
		release(client, broken);
	}
}

/**
 * Calls `work` with a client of the pool in a transaction that others' commits are visible in, whatever the default of
 * the database. An error closes the connection, which ends the transaction.
 */
function inTransaction(pool, signal, work) {
	return withClient(pool, signal, async (client) => {
		await client.query("BEGIN ISOLATION LEVEL READ COMMITTED");
		const result = await work(client);
		await client.query("COMMIT");
		return result;
	});
}

module.exports = { LOCK_TIMEOUT_MS, guard, inTransaction, withClient };
