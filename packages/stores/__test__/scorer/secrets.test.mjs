/** Connection strings and passwords do not show in errors, nor in a store that is printed. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import { after, before, test } from "node:test";
import { inspect } from "node:util";
import { Scorer } from "@knowledgepulse/scoring";
import { PostgresStore } from "@knowledgepulse/scoring-stores/postgres";
import { SqliteStore } from "@knowledgepulse/scoring-stores/sqlite";
import pg from "pg";
import { trace } from "../../../../__test__/support/traces.mjs";
import { add, options } from "../support/entries.mjs";

const PASSWORD = "s3cret-passw0rd";
const urlOf = (host) => `postgres://someone:${PASSWORD}@${host}/db`;

/** Fails if a value shows the password when printed, causes included, or as JSON. */
function assertSilent(value) {
	const texts = [inspect(value, { depth: null }), String(value), JSON.stringify(value)];
	for (const text of texts) assert.ok(!text?.includes(PASSWORD), text);
}

function assertRefuses(Log, given) {
	assert.throws(
		() => new Log(given),
		(error) => {
			assertSilent(error);
			return error.code === "INVALID_OPTION";
		},
	);
}

let server;
before(async () => {
	// Like a server that refuses the password.
	server = createServer((socket) => {
		const fields = ["SFATAL", "C28P01", 'Mpassword authentication failed for user "someone"', ""];
		const error = Buffer.from(`E....${fields.join("\0")}\0`);
		error.writeInt32BE(error.length - 1, 1);
		socket.on("error", () => {}).once("data", () => socket.end(error));
	}).listen(0, "127.0.0.1");
	await once(server, "listening");
});
after(() => server.close());

test("PostgresStore does not show a password in errors of its options", () => {
	const url = urlOf("host");
	for (const given of [
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
	])
		assertRefuses(PostgresStore, given);
});

test("SqliteStore does not show a password in errors of its options", () => {
	const url = urlOf("host");
	for (const given of [url, { path: url }, { path: [url] }, { path: "a.db", namespace: { url } }])
		assertRefuses(SqliteStore, given);
});

test("PostgresStore does not show a password in errors of connections, nor when printed", async () => {
	const { port } = server.address();
	const refusing = `127.0.0.1:${port}`;
	const hosts = [refusing, "127.0.0.1:1", "[::bad", "%zz", "host:port", "", "a b", "host%00"];
	const stores = hosts.map((host) => new PostgresStore({ connectionString: urlOf(host) }));
	const pool = new pg.Pool({ host: "127.0.0.1", port, user: "someone", password: PASSWORD });
	stores.push(new PostgresStore({ pool }));
	for (const store of stores) {
		const { signal } = new AbortController();
		for (const call of [
			() => store.append([add()], options({ signal })),
			() => store.read(options({ signal })),
			() => store.migrate(),
		])
			await assert.rejects(call, (error) => {
				assertSilent(error);
				return true;
			});
		const scorer = new Scorer({ store });
		await assert.rejects(scorer.remember(trace()), (error) => {
			assertSilent(error);
			return error.code === "STORE_UNAVAILABLE";
		});
		assertSilent(scorer.status());
		scorer.close();
		assertSilent(store);
		await store.close();
		await assert.rejects(store.read(options()), (error) => {
			assertSilent(error);
			return error.code === "CLOSED";
		});
	}
	await pool.end();
});
