import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { migrationSql, PostgresNoveltyLog } from "@knowledgepulse/scoring-stores/postgres";
import pg from "pg";
import { add, end, forget, options } from "../support/log.mjs";
import { missing, startPostgres } from "../support/postgres.mjs";

const MISMATCH = { name: "ScoringError", code: "STORE_MISMATCH" };

describe("migrations", { skip: missing }, () => {
	let server;
	before(async () => {
		// Nothing is to improve plans that were made for small tables.
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

	test("PostgresNoveltyLog without its tables says what to run", () =>
		inDatabase(async (pool) => {
			const log = new PostgresNoveltyLog({ pool });
			for (const call of [() => log.append([add()], options()), () => log.read(options())])
				await assert.rejects(call(), {
					...MISMATCH,
					message:
						"the database lacks the tables or functions of a novelty log: set migrate: true, call migrate(), or run what migrationSql() returns",
				});
		}));

	test("PostgresNoveltyLog with older tables says what to run", () =>
		inDatabase(async (pool) => {
			await pool.query(migrationSql());
			const log = new PostgresNoveltyLog({ pool, compare: "database" });
			await assert.rejects(log.compare([add()], options()), {
				...MISMATCH,
				message: /run what migrationSql\({ compare: "database" }\) returns$/,
			});
			await pool.query(migrationSql({ compare: "database", from: 1 }));
			const [{ seq }] = await log.compare([add(null, Buffer.alloc(1536))], options());
			assert.equal(seq, 1n);
		}));

	test("PostgresNoveltyLog makes its tables on first use with migrate", () =>
		inDatabase(async (pool) => {
			for (const compare of ["mirror", "database"]) {
				const log = new PostgresNoveltyLog({
					...{ pool, compare, migrate: true, namespace: compare },
				});
				const method = log.compare ?? log.append;
				await method.call(log, [forget("a")], options());
			}
		}));

	test("PostgresNoveltyLog refuses tables of a newer version", () =>
		inDatabase(async (pool) => {
			const log = new PostgresNoveltyLog({ pool, migrate: true });
			await log.append([add()], options());
			await pool.query(`INSERT INTO kp_novelty_migrations VALUES (3);
				ALTER FUNCTION kp_novelty_append_v1 RENAME TO kp_novelty_append_v3;
				ALTER FUNCTION kp_novelty_read_v1 RENAME TO kp_novelty_read_v3`);
			const newer = {
				...MISMATCH,
				message:
					"the database has migration 3 of @knowledgepulse/scoring-stores, this version knows 2: update the package",
			};
			await assert.rejects(log.append([add()], options()), newer);
			await assert.rejects(log.read(options()), newer);
			await assert.rejects(log.migrate(), newer);
		}));

	test("migrate applies each migration once, however many processes call it", () =>
		inDatabase(async (pool, database) => {
			const logs = Array.from(
				{ length: 8 },
				(_, i) =>
					new PostgresNoveltyLog({
						connectionString: `socket:${server.folder}?db=${database}&user=postgres`,
						compare: i % 2 ? "mirror" : "database",
					}),
			);
			await Promise.all(logs.map((log) => log.migrate()));
			await Promise.all(logs.map((log) => log.close()));
			const { rows } = await pool.query(
				"SELECT version FROM kp_novelty_migrations ORDER BY version",
			);
			assert.deepEqual(rows, [{ version: 1 }, { version: 2 }]);
		}));

	test("migrate keeps what there is", () =>
		inDatabase(async (pool) => {
			const log = new PostgresNoveltyLog({ pool, migrate: true });
			const page = await log.append([add("a")], options());
			await new PostgresNoveltyLog({ pool, compare: "database" }).migrate();
			await log.migrate();
			const next = await log.append([add("b")], options({ after: end(page) }));
			assert.deepEqual([next.reset, next.head], [false, 2n]);
		}));

	test("migrate rejects unknown options", async () => {
		const pool = new pg.Pool();
		const called = new PostgresNoveltyLog({ pool }).migrate({ force: true });
		await assert.rejects(called, { code: "INVALID_OPTION", path: "force" });
	});

	test("migrationSql returns what migrate applies", async () => {
		for (const compare of ["mirror", "database"])
			await inDatabase(async (pool, database) => {
				await new PostgresNoveltyLog({ pool, compare }).migrate();
				const printed = await server.createDatabase();
				await server.query(migrationSql({ compare }), undefined, {
					database: printed,
				});
				assert.ok(schemaOf(database).includes("kp_novelty_append_v1"));
				assert.equal(schemaOf(database), schemaOf(printed));
			});
	});

	test("migrationSql changes nothing where it was applied", () =>
		inDatabase(async (pool, database) => {
			await pool.query(migrationSql());
			const before = schemaOf(database);
			await assert.rejects(pool.query(migrationSql()), { code: "23505" });
			assert.equal(schemaOf(database), before);
		}));

	test("append reads no more rows of a long log than of a short one", () =>
		inDatabase(async (pool, database) => {
			await new PostgresNoveltyLog({ pool }).migrate();
			const session = new pg.Pool(server.config({ database, max: 1 }));
			const log = new PostgresNoveltyLog({ pool: session });
			let after = null;
			for (let i = 0; i < 300; i++) {
				// For a table of one page, a scan of all of it is the best plan.
				if (i === 2) await pool.query("VACUUM ANALYZE kp_novelty_log");
				const page = await log.append([add(`trace ${i}`)], options({ after }));
				after = end(page);
				await log.read(options({ after }));
			}
			await log.append([forget("trace 7")], options({ after }));
			await session.query("SELECT pg_stat_force_next_flush()");
			await session.end();
			const { rows } = await pool.query(
				"SELECT seq_tup_read, idx_tup_fetch FROM pg_stat_user_tables WHERE relname = 'kp_novelty_log'",
			);
			assert.equal(Number(rows[0].seq_tup_read), 0);
			assert.ok(Number(rows[0].idx_tup_fetch) < 300 * 6, rows[0].idx_tup_fetch);
		}));
});
