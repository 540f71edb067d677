/**
 * Roles that may create functions, operators and types in a schema of the `search_path` do not get their code run by
 * those that score or migrate.
 */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, describe, test } from "node:test";
import { migrationSql, PostgresStore } from "@knowledgepulse/scoring-stores/postgres";
import pg from "../support/driver.mjs";
import { add, clear, end, forget, options, readAll } from "../support/entries.mjs";
import { missing, startPostgres } from "../support/postgres.mjs";

const RECIPE = new URL("../../postgres/row-level-security.sql", import.meta.url);

/** Overloads of all functions and operators of PostgreSQL that can be made, which raise an error; and other names. */
const PLANTS = `
CREATE FUNCTION public.trap() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'trapped'; END $$;
DO $$
DECLARE
	each record;
BEGIN
	FOR each IN
		SELECT p.proname AS name, pg_get_function_identity_arguments(p.oid) AS args, format_type(p.prorettype, NULL) AS result
		FROM pg_proc p WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.prokind IN ('f', 'a', 'w')
			AND NOT 'internal'::regtype = ANY (p.proargtypes) AND p.prorettype NOT IN ('internal'::regtype, 'trigger'::regtype)
	LOOP
		BEGIN
			EXECUTE format('CREATE FUNCTION public.%I(%s) RETURNS %s LANGUAGE plpgsql AS %L', each.name,
				replace(each.args, ' ORDER BY ', ', '), each.result, 'BEGIN RAISE EXCEPTION ''trapped''; END');
		EXCEPTION WHEN OTHERS THEN
		END;
	END LOOP;
	FOR each IN
		SELECT o.oprname AS name, o.oprleft::regtype AS l, o.oprright::regtype AS r, o.oprresult::regtype AS result
		FROM pg_operator o WHERE o.oprnamespace = 'pg_catalog'::regnamespace AND o.oprleft <> 0
	LOOP
		BEGIN
			EXECUTE format('CREATE OR REPLACE FUNCTION public.trap_op(%s, %s) RETURNS %s LANGUAGE plpgsql AS %L', each.l, each.r,
				each.result, 'BEGIN RAISE EXCEPTION ''trapped''; END');
			EXECUTE format('CREATE OPERATOR public.%s (LEFTARG = %s, RIGHTARG = %s, FUNCTION = public.trap_op)', each.name,
				each.l, each.r);
		EXCEPTION WHEN OTHERS THEN
		END;
	END LOOP;
	FOR each IN
		SELECT * FROM unnest('{text,uuid,bytea,json,name,int4,int8,float8,bool,timestamptz}'::text[]) name,
			unnest('{public,pg_temp}'::text[]) place
	LOOP
		EXECUTE format('CREATE DOMAIN %I.%I AS pg_catalog.%I CHECK (public.trap())', each.place, each.name, each.name);
	END LOOP;
END $$;
CREATE TYPE public.bait AS (x integer);
CREATE FUNCTION public.bite(text) RETURNS public.bait LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'trapped'; END $$;
CREATE CAST (text AS public.bait) WITH FUNCTION public.bite(text) AS IMPLICIT;
CREATE FUNCTION public.hashtextextended(public.bait, integer) RETURNS bigint LANGUAGE sql AS 'SELECT 0';
CREATE COLLATION public."C" FROM "POSIX";
CREATE TEMP TABLE pg_class AS SELECT oid, relname, relnamespace FROM pg_catalog.pg_class;
CREATE TEMP TABLE pg_namespace AS SELECT oid, nspname, nspowner FROM pg_catalog.pg_namespace;
CREATE TEMP TABLE pg_roles AS SELECT oid, rolname, rolsuper FROM pg_catalog.pg_roles;
CREATE TEMP TABLE head (namespace text, seq bigint);
CREATE TEMP TABLE entries (namespace text, seq bigint);
CREATE TEMP TABLE migrations (version integer);
CREATE TEMP TABLE kp_novelty_migrations (version integer);
INSERT INTO kp_novelty_migrations VALUES (99);
INSERT INTO migrations VALUES (99);`;

/** A path that prefers what others have made. */
const PATH = "SET search_path = pg_temp, public, pg_catalog";

describe("hostile roles", { skip: missing }, () => {
	let server;
	before(async () => {
		server = await startPostgres();
		await server.query("CREATE ROLE mallory; CREATE ROLE app LOGIN");
	});
	after(() => server?.stop());

	/**
	 * Calls `work` with a pool of one connection, of the role `app`, in a database that it may create schemas in, and in
	 * which another role has planted its own objects.
	 */
	async function amongPlants(work) {
		const database = await server.createDatabase();
		await server.query(
			`GRANT ALL ON DATABASE ${database} TO app, mallory; GRANT ALL ON SCHEMA public TO PUBLIC`,
			undefined,
			{ database },
		);
		const pool = new pg.Pool(server.config({ database, max: 1 }));
		try {
			await pool.query("SET ROLE mallory");
			await pool.query(PLANTS);
			await pool.query("SET SESSION AUTHORIZATION app");
			await pool.query(PATH);
			await work(pool, database);
		} finally {
			await pool.end();
		}
	}

	/** Uses every statement of the store. */
	async function useAll(pool, namespace) {
		const store = new PostgresStore({ pool, namespace });
		await store.read(options());
		const page = await store.append([add("a"), add("b"), forget("a")], options());
		await store.append([clear(), add("c")], options({ after: end(page), keepFrom: Date.now() }));
		// Another header, an unknown position, and a new epoch.
		await store.read(options({ header: { model: "other", maxElements: 1, ttlMs: 1 } }));
		await store.append([], options({ after: { ...end(page), seq: 99 } }));
		assert.equal((await readAll(store)).length, 2);
		// Still the connection with this setting.
		const { rows } = await pool.query("SHOW search_path");
		assert.equal(rows[0].search_path, "pg_temp, public, pg_catalog");
	}

	test("their objects are preferred by what is not qualified", () =>
		amongPlants(async (pool) => {
			const client = await pool.connect();
			for (const sql of [
				"SELECT hashtextextended('a'::pg_catalog.text, 7220::bigint)",
				"SELECT clock_timestamp()",
				"SELECT 'a'::pg_catalog.text = 'b'::pg_catalog.text",
				"SELECT max(1)",
				"SELECT 'a'::text",
				"SELECT NULL::uuid",
			])
				await assert.rejects(client.query(sql), /trapped/, sql);
			client.release();
		}));

	for (const [name, migrate] of [
		["migrate", (pool) => new PostgresStore({ pool }).migrate()],
		["migrationSql", (pool) => pool.query(`BEGIN; ${migrationSql()}; COMMIT`)],
	])
		test(`${name}, and every statement after it, run none of their code`, () =>
			amongPlants(async (pool) => {
				await migrate(pool);
				await useAll(pool, "plain");
			}));

	test("the recipe for row-level security runs none of their code", () =>
		amongPlants(async (pool) => {
			await new PostgresStore({ pool }).migrate();
			await pool.query("RESET SESSION AUTHORIZATION");
			await pool.query(PATH);
			await pool.query(await readFile(RECIPE, "utf8"));
			await pool.query(
				"RESET search_path; GRANT kp_novelty_tenant TO mallory; CREATE ROLE tenant IN ROLE kp_novelty_tenant",
			);
			await pool.query("SET SESSION AUTHORIZATION tenant");
			await pool.query(PATH);
			await useAll(pool, "tenant");
		}));

	test("a store with migrate: true calls no function of another role's schema", () =>
		amongPlants(async (pool, database) => {
			await server.query(
				`CREATE SCHEMA kp_novelty AUTHORIZATION mallory; SET ROLE mallory;
				CREATE TABLE kp_novelty.migrations AS SELECT 1 AS version;
				GRANT ALL ON SCHEMA kp_novelty TO PUBLIC; GRANT ALL ON kp_novelty.migrations TO PUBLIC;
				CREATE FUNCTION kp_novelty.read_v1(text, text, int8, float8, uuid, int8, uuid, int4)
				RETURNS TABLE (page text, entries text, embeddings text) LANGUAGE plpgsql
				AS $$ BEGIN RAISE 'trapped'; END $$`,
				undefined,
				{ database },
			);
			const store = new PostgresStore({ pool, migrate: true });
			await assert.rejects(store.read(options()), { code: "STORE_MISMATCH" });
		}));

	test("migrate refuses a schema of another role", () =>
		amongPlants(async (pool, database) => {
			await server.query("CREATE SCHEMA kp_novelty AUTHORIZATION mallory", undefined, { database });
			await assert.rejects(new PostgresStore({ pool }).migrate(), {
				name: "ScoringError",
				code: "STORE_MISMATCH",
				message: 'the schema kp_novelty belongs neither to "app" nor to a superuser',
			});
			const administrator = new pg.Pool(server.config({ database }));
			await assert.rejects(new PostgresStore({ pool: administrator }).migrate(), {
				code: "STORE_MISMATCH",
			});
			await administrator.end();
		}));
});
