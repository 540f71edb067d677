import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { migrationSql, PostgresStore } from "@knowledgepulse/scoring-stores/postgres";
import pg from "../support/driver.mjs";
import { add, end, forget, options } from "../support/entries.mjs";
import { missing, startPostgres } from "../support/postgres.mjs";

const MISMATCH = { name: "ScoringError", code: "STORE_MISMATCH" };

describe("migrations", { skip: missing }, () => {
	let server;
	before(async () => {
		// Disables analysis, which would improve plans made for small tables.
		server = await startPostgres({ settings: { autovacuum: "off" } });
	});
	after(() => server?.stop());

	/** Calls `work` with a pool on a new database. */
	async function inDatabase(work) {
		const database = await server.createDatabase();
		const pool = new pg.Pool(server.config({ database }));
		try {
			await work(pool, database);
		} finally {
			await pool.end();
		}
	}

	const schemaOf = (database) =>
		server
			.run("pg_dump", "-h", server.folder, "-U", "postgres", "-s", database)
			// Different each time.
			.replace(/^\\(un)?restrict .*$/gm, "");

	test("PostgresStore without its tables says what to run", () =>
		inDatabase(async (pool) => {
			const store = new PostgresStore({ pool });
			for (const call of [() => store.append([add()], options()), () => store.read(options())])
				await assert.rejects(call(), {
					...MISMATCH,
					message:
						"the database lacks the tables or functions of a novelty store: kp-score store init makes them, or migrate: true, migrate() or what migrationSql() returns",
				});
		}));

	test("PostgresStore refuses tables of a newer version", () =>
		inDatabase(async (pool) => {
			const store = new PostgresStore({ pool, migrate: true });
			await store.append([add()], options());
			const newer = {
				...MISMATCH,
				message:
					"the database has migration 2 of @knowledgepulse/scoring-stores, this version knows 1: update the package",
			};
			await pool.query("INSERT INTO kp_novelty.migrations VALUES (2)");
			for (const migrate of [false, true]) {
				const opened = new PostgresStore({ pool, migrate });
				await assert.rejects(opened.read(options()), newer);
			}
			await pool.query(`ALTER FUNCTION kp_novelty.append_v1 RENAME TO append_v2;
				ALTER FUNCTION kp_novelty.read_v1 RENAME TO read_v2`);
			await assert.rejects(store.append([add()], options()), newer);
			await assert.rejects(store.read(options()), newer);
			await assert.rejects(store.migrate(), newer);
		}));

	test("migrate applies each migration once, however many processes call it", () =>
		inDatabase(async (pool, database) => {
			const connectionString = `socket:${server.folder}?db=${database}&user=postgres`;
			const stores = Array.from({ length: 8 }, () => new PostgresStore({ connectionString }));
			await Promise.all(stores.map((store) => store.migrate()));
			await Promise.all(stores.map((store) => store.close()));
			const { rows } = await pool.query(
				"SELECT version FROM kp_novelty.migrations ORDER BY version",
			);
			assert.deepEqual(rows, [{ version: 1 }]);
		}));

	test("migrate refuses a database that is not in UTF8, and so does every call", async () => {
		const database = "latin";
		await server.query(`CREATE DATABASE ${database} ENCODING LATIN1 TEMPLATE template0`);
		const pool = new pg.Pool(server.config({ database }));
		const refusal = {
			...MISMATCH,
			message: "the database has the encoding LATIN1, a store needs UTF8",
		};
		const store = new PostgresStore({ pool, migrate: true });
		await assert.rejects(store.migrate(), refusal);
		await assert.rejects(store.read(options()), refusal);
		assert.equal(
			await server
				.query("SELECT FROM pg_namespace WHERE nspname = 'kp_novelty'", [], { database })
				.then((rows) => rows.length),
			0,
		);

		await server.query(migrationSql(), undefined, { database });
		await assert.rejects(new PostgresStore({ pool }).append([add("a")], options()), refusal);
		await pool.end();
	});

	test("migrate keeps existing entries", () =>
		inDatabase(async (pool) => {
			const store = new PostgresStore({ pool, migrate: true });
			const page = await store.append([add("a")], options());
			await store.migrate();
			const next = await store.append([add("b")], options({ after: end(page) }));
			assert.deepEqual([next.reset, next.head], [false, 2]);
		}));

	test("migrate rejects unknown options", async () => {
		const pool = new pg.Pool();
		const called = new PostgresStore({ pool }).migrate({ force: true });
		await assert.rejects(called, { code: "INVALID_OPTION", path: "force" });
	});

	test("migrationSql returns what migrate applies, and changes nothing if it was applied", () =>
		inDatabase(async (pool, database) => {
			await new PostgresStore({ pool }).migrate();
			const printed = { database: await server.createDatabase() };
			await server.query(migrationSql(), undefined, printed);
			await assert.rejects(server.query(migrationSql(), undefined, printed), { code: "23505" });
			assert.ok(schemaOf(database).includes("kp_novelty.append_v1"));
			assert.equal(schemaOf(database), schemaOf(printed.database));
		}));

	test("append reads no more rows of a long store than of a short one", () =>
		inDatabase(async (pool, database) => {
			await new PostgresStore({ pool }).migrate();
			const session = new pg.Pool(server.config({ database, max: 1 }));
			const store = new PostgresStore({ pool: session });
			let after = null;
			for (let i = 0; i < 300; i++) {
				// For a table of one page, a scan of all of it is the best plan.
				if (i === 2) await pool.query("VACUUM ANALYZE kp_novelty.entries");
				const page = await store.append([add(`trace ${i}`)], options({ after }));
				after = end(page);
				await store.read(options({ after }));
			}
			await store.append([forget("trace 7")], options({ after }));
			await session.query("SELECT pg_stat_force_next_flush()");
			await session.end();
			const { rows } = await pool.query(
				"SELECT seq_tup_read, idx_tup_fetch FROM pg_stat_user_tables WHERE relid = 'kp_novelty.entries'::regclass",
			);
			assert.equal(Number(rows[0].seq_tup_read), 0);
			assert.ok(Number(rows[0].idx_tup_fetch) < 300 * 6, rows[0].idx_tup_fetch);
		}));
});
