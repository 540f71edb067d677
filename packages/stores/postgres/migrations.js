/** Migrations of the schema. */
const { readFileSync } = require("node:fs");
const { join } = require("node:path");
const { ScoringError } = require("@knowledgepulse/scoring");
const { withClient } = require("./client.js");

/**
 * The files of the migrations, numbered from 1. Each takes the lock, adds its version, and fails without changes if it
 * was applied before.
 */
const MIGRATIONS = ["1-store.sql"];

const LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('kp_novelty_migrations', 7220))";

const mismatch = (message) => new ScoringError(message, { code: "STORE_MISMATCH" });

const sqlOf = (file) => readFileSync(join(__dirname, "migrations", file), "utf8");

const migrationSql = () => MIGRATIONS.map(sqlOf).join("\n");

/** Returns the number of the newest migration that the database has. Throws if it has newer ones. */
async function newest(client) {
	// Not to_regclass, which may have cached the absence of the table before the lock.
	const book = `SELECT FROM pg_class WHERE relname = 'kp_novelty_migrations' AND pg_table_is_visible(oid)`;
	if ((await client.query(book)).rows.length === 0) return 0;
	const found = await client.query("SELECT max(version) AS version FROM kp_novelty_migrations");
	const version = Number(found.rows[0].version);
	if (version > MIGRATIONS.length)
		throw mismatch(
			`the database has migration ${version} of @knowledgepulse/scoring-stores, this version knows ${MIGRATIONS.length}: update the package`,
		);
	return version;
}

/** Applies missing migrations, each in its own transaction. */
function migrate(pool, signal) {
	return withClient(pool, signal, async (client) => {
		for (const [index, file] of MIGRATIONS.entries()) {
			// On an error the connection is closed, which ends the transaction.
			await client.query("BEGIN");
			await client.query(LOCK);
			if ((await newest(client)) <= index) await client.query(sqlOf(file));
			await client.query("COMMIT");
		}
	});
}

/** Returns whether a database lacks migrations. Throws if it has newer ones. */
function isOlder(pool, signal) {
	return withClient(pool, signal, async (client) => (await newest(client)) < MIGRATIONS.length);
}

module.exports = { isOlder, migrate, migrationSql, mismatch };
