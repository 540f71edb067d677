import assert from "node:assert/strict";
import { once } from "node:events";
import { after, describe, test } from "node:test";
import { PostgresStore } from "@knowledgepulse/scoring-stores/postgres";
import pg from "../support/driver.mjs";
import { add, callsOf, clear, end, forget, options, readAll } from "../support/entries.mjs";
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

	test("PostgresStore.header creates no namespace", async () => {
		const store = open();
		const { signal } = new AbortController();
		assert.equal(await store.header({ signal }), null);
		assert.equal(await store.header({ signal }), null);
		await store.append([add("a")], options());
		assert.deepEqual({ ...(await store.header({ signal })) }, options().header);
		await store.close();
	});

	test("PostgresStore rejects wrong options", () => {
		const namespace = "a string of 1 to 200 characters without NUL or lone surrogates";
		// Its client has none of the methods that quote, unlike that of pg.
		const nativePool = new pg.Pool({ Client: function Client() {} });
		const known = "pool, connectionString, namespace, durable, migrate";
		for (const [given, path, expected] of [
			[undefined, "options", "an object, got undefined"],
			[{}, "pool", "either pool or connectionString, got neither"],
			[{ pool, connectionString: url }, "pool", "either pool or connectionString, got both"],
			[{ pool: {} }, "pool", "a pool of pg, not a client, got an object"],
			[{ pool: new pg.Client() }, "pool", "a pool of pg, not a client, got an object"],
			[{ pool: nativePool }, "pool", "a pool of the JavaScript client of pg, got one of pg.native"],
			[
				{ connectionString: "postgres://u:p@[::bad/db" },
				"connectionString",
				"a connection string of pg, got one with the error: Invalid URL",
			],
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
		await bare.end();
	});

	for (const owner of ["the application", "the store"])
		test(`an error of a connection that is closing with ${owner} does not end the process`, async () => {
			const proxy = await startProxy(server.folder);
			const config = { host: "127.0.0.1", port: proxy.port, user: "postgres" };
			const far = new pg.Pool({ ...config, database: "postgres" });
			const connectionString = `postgres://postgres@127.0.0.1:${proxy.port}/postgres`;
			const store = open(
				owner === "the store" ? { pool: undefined, connectionString } : { pool: far },
			);
			await store.append([add()], options());
			// Instead of waiting for the end of the connection.
			proxy.farewell = fatal("57P01", "the server shuts down");
			await store.close();
			await far.end();
			await proxy.ended;
			await proxy.stop();
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

	for (const level of ["repeatable read", "serializable"])
		test(`a store works in a database whose default isolation level is ${level}`, async () => {
			const database = await server.createDatabase();
			const set = `-c default_transaction_isolation=${level.replace(" ", "\\ ")}`;
			const strict = new pg.Pool(server.config({ database, options: set }));
			const { rows } = await strict.query("SHOW transaction_isolation");
			assert.deepEqual(rows, [{ transaction_isolation: level }]);
			const stores = Array.from(
				{ length: 4 },
				() => new PostgresStore({ pool: strict, migrate: true }),
			);
			const sent = stores.map(() => [add(), add()]);
			await Promise.all(stores.map((store, index) => store.append(sent[index], options())));
			// Which learns the level from several calls at once.
			const another = new PostgresStore({ pool: strict });
			await Promise.all([1, 2, 3].map(() => another.append([forget("a")], options())));
			for (const store of stores) assert.equal((await store.read(options())).head, 11);
			await strict.end();
		});

	test("a store works with binary results and any bytea_output", async () => {
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
		await binary.end();
	});

	test("read rejects a damaged row", async () => {
		const store = open();
		await store.append([add("a")], options());
		for (const damage of ["[", null]) {
			const damaging = withQuery(async (client, config) => {
				const result = await client.query(config);
				result.rows[1][1] = damage;
				return result;
			});
			const damaged = open({ pool: damaging, namespace: `connections ${count}` });
			await assert.rejects(damaged.read(options()), String(damage));
			count -= 1;
		}
		assert.equal((await readAll(store)).length, 1);
	});

	/** Whether a query is a call of a scorer, and not about the schema. */
	const isCall = ({ text = "" }) => text.includes("_v1(");

	test("append waits for the disk if durable, and for removals", async () => {
		// What the store sends, followed by a question within its transaction.
		const settings = [];
		const asking = withQuery(async (client, config) => {
			await client.query("BEGIN");
			const result = await client.query(config);
			const { rows } = await client.query("SHOW synchronous_commit");
			if (isCall(config)) settings.push(rows[0].synchronous_commit);
			await client.query("COMMIT");
			return result;
		});
		for (const durable of [false, true])
			for (const entry of [add("a"), forget("a")])
				await open({ pool: asking, durable }).append([entry], options());
		assert.deepEqual(settings, ["off", "on", "on", "on"]);
	});

	test("the text of a statement has nothing of its entries, and is the same for all calls", async () => {
		const texts = new Set();
		const listening = withQuery((client, config) => {
			if (isCall(config)) texts.add(config.text);
			return client.query(config);
		});
		for (const namespace of ["one", "two"]) {
			const store = open({ pool: listening, namespace });
			const page = await store.append([add("a"), add("b"), forget("a")], options());
			await store.append([clear(), add("c")], options({ after: end(page) }));
			await store.read(options());
			await store.read(options({ after: end(page) }));
		}
		assert.equal(texts.size, 2);
		const sql =
			"SELECT query FROM pg_stat_activity WHERE query LIKE '%kp_novelty.append_v1%' AND pid <> pg_backend_pid()";
		for (const { query } of await server.query(sql)) assert.ok(texts.has(query), query);
	});

	for (const [what, change] of [
		["slow", "PERFORM pg_sleep(1000);"],
		["that floods the client with notices", "LOOP RAISE NOTICE 'again'; END LOOP;"],
	])
		test(`append and close end in time where a trigger is ${what}`, async () => {
			const database = await server.createDatabase();
			const config = { database };
			const connectionString = `socket:${server.folder}?db=${database}&user=postgres`;
			const store = open({ pool: undefined, connectionString });
			await store.migrate();
			await server.query(
				`CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${change} RETURN NEW; END $$;
				CREATE TRIGGER hold BEFORE INSERT ON kp_novelty.entries FOR EACH ROW EXECUTE FUNCTION hold()`,
				undefined,
				config,
			);
			const signal = AbortSignal.timeout(300);
			const appended = store.append([add()], options({ signal }));
			await assert.rejects(appended, { name: "TimeoutError" });
			await store.close();
			const terminate = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1";
			await server.query(terminate, [database]);
		});

	test("migrate waits for locks of other roles for a limited time", async () => {
		const statements = [];
		const listening = withQuery((client, config) => {
			statements.push(config);
			return client.query(config);
		});
		await open({ pool: listening }).migrate();
		assert.equal(statements[1], "SET LOCAL lock_timeout = 5000");
	});

	test("append and close end in time where another role holds the lock", async () => {
		const store = open({ pool: undefined, connectionString: url, namespace: "held" });
		await whileLocked("held", async () => {
			const signal = AbortSignal.timeout(300);
			const appended = store.append([add()], options({ signal }));
			await assert.rejects(appended, { name: "TimeoutError" });
			await store.close();
		});
	});

	for (const [what, set] of [
		["the smallest", "first = -9223372036854775808, seq = -9223372036854775808"],
		["the largest", "first = 9223372036854775807, seq = 9223372036854775807"],
	])
		test(`read and append reject with INVALID_STORE at ${what} number`, async () => {
			const store = open({ namespace: what });
			await store.append([add()], options());
			await server.query(`UPDATE kp_novelty.head SET ${set} WHERE namespace = $1`, [what]);
			await server.query("UPDATE kp_novelty.entries SET seq = $1 WHERE namespace = $2", [
				set.split(" ").at(-1),
				what,
			]);
			await assert.rejects(store.append([add()], options()), { code: "INVALID_STORE" });
			const page = await store.read(options()).catch((error) => error);
			assert.ok(page.code === "INVALID_STORE" || !Number.isSafeInteger(page.head));
		});

	test("append refuses ids that are too long, and read replaces those that others have written", async () => {
		const store = open({ namespace: "long" });
		const long = "x".repeat(1025);
		await assert.rejects(store.append([add(), forget(long)], options()), {
			name: "ScoringError",
			code: "INVALID_OPTION",
			message: "entries[1].id: expected at most 1024 bytes, got 1025",
			path: "entries[1].id",
		});
		await store.append([add("a"), forget("b"), add("x".repeat(1024))], options());
		await server.query(
			"UPDATE kp_novelty.entries SET id = repeat('é', 10000000) WHERE namespace = 'long' AND seq < 3",
		);
		const entries = await readAll(store);
		assert.equal(entries[0].id, null);
		assert.equal(entries[1].id, null);
		assert.equal(entries[2].id.length, 1024);
	});
});
