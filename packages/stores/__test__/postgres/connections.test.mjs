import assert from "node:assert/strict";
import { once } from "node:events";
import { after, describe, test } from "node:test";
import { PostgresStore } from "@knowledgepulse/scoring-stores/postgres";
import pg from "pg";
import { add, callsOf, forget, options, readAll } from "../support/entries.mjs";
import { missing, startForStores } from "../support/postgres.mjs";
import { fatal, startProxy } from "../support/proxy.mjs";

const REASON = new Error("too late");

const { server, pool } = await startForStores({ after });

describe("connections", { skip: missing }, () => {
	let count = 0;
	const url = `socket:${server?.folder}?db=postgres&user=postgres`;

	const open = (more) => new PostgresStore({ pool, namespace: `connections ${++count}`, ...more });

	/** Returns the pool with clients that send queries by `query`. */
	const withQuery = (query) =>
		Object.create(pool, {
			connect: {
				value: (callback) =>
					pool.connect((error, client, release) => {
						const value = (config) => query(client, config);
						callback(error, Object.create(client, { query: { value } }), release);
					}),
			},
		});

	/** Calls `work` while another session holds the lock of a namespace. */
	async function whileLocked(namespace, work) {
		const holder = new pg.Client(server.config());
		await holder.connect();
		await holder.query("SELECT pg_advisory_lock(hashtextextended($1, 7220))", [namespace]);
		try {
			await work();
		} finally {
			await holder.end();
		}
	}

	test("PostgresStore rejects wrong options", () => {
		const namespace = "a string of 1 to 200 characters without NUL or lone surrogates";
		const known = "pool, connectionString, namespace, durable, migrate";
		for (const [given, path, expected] of [
			[undefined, "options", "an object, got undefined"],
			[{}, "pool", "either pool or connectionString, got neither"],
			[{ pool, connectionString: url }, "pool", "either pool or connectionString, got both"],
			[{ pool: {} }, "pool", "a pool of pg, got an object"],
			[{ connectionString: 5 }, "connectionString", "a string, got 5"],
			[{ pool, namespace: 5 }, "namespace", `${namespace}, got 5`],
			[{ pool, namespace: "" }, "namespace", `${namespace}, got ""`],
			[{ pool, namespace: "a\0" }, "namespace", `${namespace}, got "a\\0"`],
			[{ pool, namespace: "\ud800" }, "namespace", `${namespace}, got "\ufffd"`],
			[{ pool, namespace: "x".repeat(201) }, "namespace", `${namespace}, got "${"x".repeat(40)}"…`],
			[{ pool, durable: 1 }, "durable", "true or false, got 1"],
			[{ pool, migrate: "yes" }, "migrate", 'true or false, got "yes"'],
			[
				{ pool, namespaces: "a" },
				"namespaces",
				`one of the options ${known}, got an unknown option; did you mean namespace?`,
			],
		])
			assert.throws(() => new PostgresStore(given), {
				name: "ScoringError",
				code: "INVALID_OPTION",
				path,
				message: `${path}: expected ${expected}`,
			});
	});

	test("close ends the connections of a connection string", async () => {
		const connectionString = `${url}&application_name=closed`;
		const store = open({ pool: undefined, connectionString });
		await store.append([add()], options());
		const sql = "SELECT 1 FROM pg_stat_activity WHERE application_name = 'closed'";
		assert.equal((await server.query(sql)).length, 1);
		await store.close();
		while ((await server.query(sql)).length > 0);
	});

	test("a store gives up an exhausted pool when it is aborted, and the client goes back", async () => {
		const small = new pg.Pool(server.config({ max: 1 }));
		const store = open({ pool: small });
		const holder = await small.connect();
		const controller = new AbortController();
		const sent = store.append([add()], options({ signal: controller.signal }));
		controller.abort(REASON);
		await assert.rejects(sent, REASON);
		holder.release();
		assert.equal((await store.append([add()], options())).head, 1);
		assert.equal(small.idleCount, 1);
		await small.end();
	});

	test("a store closes the connection to a server that hangs when it is aborted", async () => {
		const single = new pg.Pool(server.config({ max: 1 }));
		const store = open({ pool: single });
		const entry = add();
		await store.append([add()], options());
		const controller = new AbortController();
		const { signal } = controller;
		server.freeze();
		try {
			const acquired = once(single, "acquire");
			const sent = store.append([entry], options({ signal }));
			await acquired;
			// The query has been sent.
			await new Promise(setImmediate);
			controller.abort(REASON);
			await assert.rejects(sent, REASON);
			assert.equal(single.totalCount, 0);
		} finally {
			server.thaw();
		}
		await store.append([entry], options());
		const found = callsOf(await readAll(store));
		assert.equal(found.filter((call) => call === entry.call).length, 1);
		await single.end();
	});

	test("append waits for the lock of its namespace for a limited time, read does not", async () => {
		const store = open({ namespace: "limited" });
		await store.append([add()], options());
		await whileLocked("limited", async () => {
			assert.equal((await store.read(options())).head, 1);
			await assert.rejects(
				pool.query(
					"SELECT kp_novelty.append_v1('limited', 'm', 1, NULL, NULL, NULL, NULL, 1, NULL, false, 10, '{}', '{}', '{}', '')",
				),
				{ code: "55P03" },
			);
		});
	});

	test("a store goes on after an idle connection of a pool without listeners was terminated", async () => {
		const bare = new pg.Pool(server.config({ application_name: "bare" }));
		const stores = Array.from({ length: 12 }, () => open({ pool: bare }));
		await stores[0].append([add()], options());
		// Not `once` of node:events, which would listen to errors.
		const removed = new Promise((resolve) => bare.once("remove", resolve));
		await server.query(
			"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'bare'",
		);
		await removed;
		assert.equal((await stores[0].append([add()], options())).head, 2);
		for (const store of stores) {
			// Of more than ten, Node.js would warn as of a leak.
			assert.equal(bare.listenerCount("error"), 1);
			await Promise.all([store.close(), store.close()]);
		}
		assert.equal(bare.listenerCount("error"), 0);
		await bare.end();
	});

	test("a store passes on the error of a server that ends a new connection", async () => {
		const proxy = await startProxy(server.folder);
		const far = new pg.Pool(server.config({ host: "127.0.0.1", port: proxy.port }));
		const store = open({ pool: far });
		proxy.appendix = fatal("57P01", "the server shuts down");
		try {
			await assert.rejects(store.append([add()], options()), /not queryable/);
			proxy.appendix = Buffer.alloc(0);
			assert.equal((await store.append([add()], options())).head, 1);
		} finally {
			await store.close();
			await far.end();
			proxy.stop();
		}
	});

	test("a store passes on the error of a terminated backend", async () => {
		const store = open({ namespace: "terminated" });
		await whileLocked("terminated", async () => {
			const sent = store.append([add()], options());
			const ended = assert.rejects(sent, { code: "57P01" });
			const terminate =
				"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
			while ((await server.query(terminate)).length === 0);
			await ended;
		});
	});

	test("append needs read committed", async () => {
		const strict = new pg.Pool(
			server.config({ options: "-c default_transaction_isolation=serializable" }),
		);
		await assert.rejects(open({ pool: strict }).append([add()], options()), {
			name: "ScoringError",
			code: "STORE_MISMATCH",
			message: 'the isolation level is "serializable", a novelty store needs "read committed"',
		});
		await strict.end();
	});

	test("a store works with binary results and any bytea_output, and keeps the pool's setting", async () => {
		const database = await server.createDatabase();
		const escaping = "-c bytea_output=escape";
		const binary = new pg.Pool(
			server.config({ database, binary: true, max: 1, options: escaping }),
		);
		const store = open({ pool: binary, migrate: true });
		const entries = [add("é", Buffer.alloc(1536, 200)), forget("b"), add(null)];
		await store.append(entries, options());
		const [first, second, third] = await readAll(store);
		assert.deepEqual([first.seq, first.id, second.kind], [1, "é", "forget"]);
		assert.deepEqual(third.embedding, entries[2].embedding);
		const page = await store.append([add()], options());
		assert.deepEqual(page.entries[0].embedding, first.embedding);
		const { fields } = await binary.query("SELECT $1::bigint", [1]);
		assert.equal(fields[0].format, "binary");
		await binary.end();
	});

	test("read rejects a damaged row", async () => {
		const store = open();
		await store.append([add("a")], options());
		const damage = ({ chunk }) => ({ chunk: chunk.subarray(0, 30) });
		const damaging = withQuery((client, config) =>
			client.query({ ...config, handleCopyData: (row) => config.handleCopyData(damage(row)) }),
		);
		const damaged = open({ pool: damaging, namespace: `connections ${count}` });
		await assert.rejects(damaged.read(options()), RangeError);
		assert.equal((await readAll(store)).length, 1);
	});

	test("append waits for the disk if durable, and for removals", async () => {
		// What the store sends, followed by a question within its transaction.
		const settings = [];
		const queries = [];
		const ask = async (client, config) => {
			await client.query("BEGIN");
			client.query(config);
			const { rows } = await client.query("SHOW synchronous_commit");
			settings.push(rows[0].synchronous_commit);
			await client.query("COMMIT");
		};
		const asking = withQuery((client, config) => queries.push(ask(client, config)));
		for (const durable of [false, true])
			for (const entry of [add("a"), forget("a")])
				await open({ pool: asking, durable }).append([entry], options());
		await Promise.all(queries);
		assert.deepEqual(settings, ["off", "on", "on", "on"]);
	});
});
