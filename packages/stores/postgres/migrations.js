/** Migrations of the schema. */
const { readFileSync } = require("node:fs");
const { join } = require("node:path");
const { ScoringError } = require("@knowledgepulse/scoring");
const { LOCK_TIMEOUT_MS, inTransaction, withClient } = require("./client.js");

/** The files, numbered from 1. Each takes the lock, adds its version, and fails without changes if it was applied. */
const MIGRATIONS = ["1-store.sql"];

const LOCK =
	"SELECT pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended('kp_novelty_migrations'::pg_catalog.text, 7220::bigint))";

// Not to_regclass, which may have cached the absence of the table before the lock.
const STATE = `SELECT pg_catalog.current_setting('server_encoding'::pg_catalog.text) AS encoding,
	(SELECT c.relname::pg_catalog.text FROM pg_catalog.pg_class c
		JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
		WHERE n.nspname OPERATOR(pg_catalog.=) 'kp_novelty'::pg_catalog.name
			AND c.relname OPERATOR(pg_catalog.=) 'migrations'::pg_catalog.name) AS book`;
const NEWEST =
	"SELECT pg_catalog.max(version)::pg_catalog.text AS version FROM kp_novelty.migrations";

const OWNER = `SELECT current_user::pg_catalog.text AS own,
		(r.rolsuper OR r.rolname OPERATOR(pg_catalog.=) current_user)::pg_catalog.text AS trusted
	FROM pg_catalog.pg_namespace n
	JOIN pg_catalog.pg_roles r ON r.oid OPERATOR(pg_catalog.=) n.nspowner
	WHERE n.nspname OPERATOR(pg_catalog.=) 'kp_novelty'::pg_catalog.name`;

const mismatch = (message) => new ScoringError(message, { code: "STORE_MISMATCH" });

/** Instead of the application's parsers. */
const types = { getTypeParser: () => String };

const firstRow = async (client, text) => (await client.query({ text, types })).rows[0];

const sqlOf = (file) => readFileSync(join(__dirname, "migrations", file), "utf8");

const migrationSql = () => MIGRATIONS.map(sqlOf).join("\n");

/**
 * Returns the number of the newest migration that the database has. Throws if it has newer ones, or an encoding that cannot
 * hold every id.
 */
async function newest(client) {
	const { encoding, book } = await firstRow(client, STATE);
	if (encoding !== "UTF8")
		throw mismatch(`the database has the encoding ${encoding}, a store needs UTF8`);
	if (book === null) return 0;
	const version = Number((await firstRow(client, NEWEST)).version);
	if (version > MIGRATIONS.length)
		throw mismatch(
			`the database has migration ${version} of @knowledgepulse/scoring-stores, this version knows ${MIGRATIONS.length}: update the package`,
		);
	return version;
}

/** Returns whether there is a schema. Throws if it belongs to another role, who may replace what is in it. */
async function hasSchema(client) {
	const owner = await firstRow(client, OWNER);
	if (owner?.trusted === "false")
		throw mismatch(`the schema kp_novelty belongs neither to "${owner.own}" nor to a superuser`);
	return owner !== undefined;
}

/** Makes the schema if there is none. The functions of one that another role has made are never called. */
async function claim(pool, signal) {
	const isThere = await withClient(pool, signal, hasSchema);
	if (!isThere) await migrate(pool, signal);
}

async function migrate(pool, signal) {
	for (const [index, file] of MIGRATIONS.entries())
		await inTransaction(pool, signal, async (client) => {
			await client.query(`SET LOCAL lock_timeout = ${LOCK_TIMEOUT_MS}`);
			await client.query(LOCK);
			await hasSchema(client);
			if ((await newest(client)) <= index) await client.query(sqlOf(file));
		});
}

/** Returns whether a database lacks migrations. Throws if it has newer ones. */
function isOlder(pool, signal) {
	return withClient(pool, signal, async (client) => (await newest(client)) < MIGRATIONS.length);
}

module.exports = { claim, isOlder, migrate, migrationSql, mismatch };
