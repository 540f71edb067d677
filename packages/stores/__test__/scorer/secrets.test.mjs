/** Connection strings and passwords do not show in errors, nor in a store that is printed. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { inspect } from "node:util";
import { Scorer } from "@knowledgepulse/scoring";
import { PostgresStore } from "@knowledgepulse/scoring-stores/postgres";
import { SqliteStore } from "@knowledgepulse/scoring-stores/sqlite";
import { trace } from "../../../../__test__/support/traces.mjs";
import pg from "../support/driver.mjs";
import { add, options } from "../support/entries.mjs";
import { missing as skip, startPostgres } from "../support/postgres.mjs";
import { fatal } from "../support/proxy.mjs";

const PASSWORD = "s3cret-passw0rd";
const urlOf = (host) => `postgres://someone:${PASSWORD}@${host}/db`;

/** Fails if a value shows the password when printed, causes included, or as JSON. */
function assertSilent(value) {
	const texts = [inspect(value, { depth: null }), String(value), JSON.stringify(value)];
	for (const text of texts) assert.ok(!text?.includes(PASSWORD), text);
}

/** Fails unless a call rejects without showing the password; returns the code of the error. */
async function codeOf(call) {
	const error = await call.then(assert.fail, (error) => error);
	assertSilent(error);
	return error.code;
}

const url = urlOf("host");

for (const [Store, ...all] of [
	[
		PostgresStore,
		url,
		[url],
		{ pool: url },
		{ pool: { connectionString: url } },
		{ pool: [url] },
		{ connectionString: [url] },
		{ connectionString: { url } },
		{ connectionString: url, pool: url },
		{ connectionString: url, password: PASSWORD },
		{ connectionString: url, durable: url },
		{ connectionString: url, migrate: { url } },
		{ connectionString: url, namespace: [url] },
	],
	[SqliteStore, url, { path: url }, { path: [url] }, { path: "a.db", namespace: { url } }],
])
	test(`${Store.name} does not show a password in errors of its options`, async () => {
		for (const given of all)
			assert.equal(await codeOf((async () => new Store(given))()), "INVALID_OPTION");
	});

/** What a server with these settings logs while an entry is added. */
async function logWith(settings) {
	const server = await startPostgres({
		settings: { logging_collector: "on", log_filename: "all", log_statement: "all", ...settings },
	});
	const pool = new pg.Pool(server.config());
	const store = new PostgresStore({ pool, migrate: true });
	await store.append([add("logged id")], options());
	await pool.end();
	const log = readFileSync(join(server.data, "log/all"), "utf8");
	await server.stop();
	assert.match(log, /kp_novelty\.append_v1/);
	return log;
}

test("PostgreSQL logs ids where it logs statements with their parameters, as the docs say", {
	skip,
}, async () => {
	assert.match(await logWith({}), /logged id/);
	assert.doesNotMatch(await logWith({ log_parameter_max_length: 0 }), /logged id/);
});

test("PostgresStore does not show a password in errors of connections, nor when printed", async (t) => {
	const error = fatal("28P01", 'password authentication failed for user "someone"');
	const server = createServer((socket) => {
		socket.on("error", () => {}).once("data", () => socket.end(error));
	}).listen(0, "127.0.0.1");
	t.after(() => server.close());
	await once(server, "listening");
	const { port } = server.address();
	const refusing = `127.0.0.1:${port}`;
	const hosts = [refusing, "127.0.0.1:1", "[::bad", "%zz", "host:port", "", "a b", "host%00"];
	const stores = [];
	for (const host of hosts)
		try {
			stores.push(new PostgresStore({ connectionString: urlOf(host) }));
		} catch (error) {
			assert.equal(error.path, "connectionString", error.message);
			assertSilent(error);
		}
	const pool = new pg.Pool({ host: "127.0.0.1", port, user: "someone", password: PASSWORD });
	stores.push(new PostgresStore({ pool }));
	for (const store of stores) {
		await codeOf(store.append([add()], options()));
		await codeOf(store.read(options()));
		await codeOf(store.migrate());
		const scorer = new Scorer({ store });
		assert.equal(await codeOf(scorer.remember(trace())), "STORE_UNAVAILABLE");
		assertSilent(scorer.status());
		scorer.close();
		assertSilent(store);
		await store.close();
		assert.equal(await codeOf(store.read(options())), "CLOSED");
	}
	await pool.end();
});
