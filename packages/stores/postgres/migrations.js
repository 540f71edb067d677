/** The schema, and how a database gets it. */
const { readFileSync } = require("node:fs");
const { join } = require("node:path");
const { ScoringError } = require("@knowledgepulse/scoring");
const { withClient } = require("./client.js");

/** File and purpose of each migration, numbered from 1. */
const MIGRATIONS = ["1-log.sql", "2-compare.sql"];

/** The last migration that a way of comparing needs. */
const NEEDED = { mirror: 1, database: 2 };

const mismatch = (message) => new ScoringError(message, { code: "STORE_MISMATCH" });

const LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('kp_novelty_migrations', 7220));\n";

const BOOK = `CREATE TABLE IF NOT EXISTS kp_novelty_migrations (
	version integer PRIMARY KEY,
	applied_at timestamptz NOT NULL DEFAULT now()
);
`;

/** The SQL of one migration; fails in a database that has it, and then changes nothing. */
function sqlOf(version) {
	const file = join(__dirname, "migrations", MIGRATIONS[version - 1]);
	return `-- Migration ${version} of @knowledgepulse/scoring-stores. To be run in one transaction.
${LOCK}${BOOK}INSERT INTO kp_novelty_migrations (version) VALUES (${version});

${readFileSync(file, "utf8")}`;
}

/** The versions that a way of comparing needs beyond `from`. */
function versions(compare, from = 0) {
	const all = Array.from({ length: NEEDED[compare] }, (_, i) => i + 1);
	return all.filter((version) => version > from);
}

function migrationSql(compare, from) {
	return versions(compare, from).map(sqlOf).join("\n");
}

async function applied(client) {
	// Not to_regclass, which may remember from before the lock that there was none.
	const book = `SELECT FROM pg_class WHERE relname = 'kp_novelty_migrations' AND pg_table_is_visible(oid)`;
	if ((await client.query(book)).rows.length === 0) return [];
	const found = await client.query("SELECT version FROM kp_novelty_migrations");
	return found.rows.map(({ version }) => Number(version));
}

function refuseNewer(found) {
	const newest = Math.max(...found);
	if (newest > MIGRATIONS.length)
		throw mismatch(
			`the database has migration ${newest} of @knowledgepulse/scoring-stores, this version knows ${MIGRATIONS.length}: update the package`,
		);
}

/** Applies what is missing, each migration in a transaction of its own. */
function migrate(pool, compare, signal) {
	return withClient(pool, signal, async (client) => {
		for (const version of versions(compare)) {
			// On an error the connection is closed, which ends the transaction.
			await client.query("BEGIN");
			await client.query(LOCK);
			const found = await applied(client);
			refuseNewer(found);
			if (!found.includes(version)) await client.query(sqlOf(version));
			await client.query("COMMIT");
		}
	});
}

/** Returns whether a database lacks migrations; throws if it has newer ones. */
function isOlder(pool, compare, signal) {
	return withClient(pool, signal, async (client) => {
		const found = await applied(client);
		refuseNewer(found);
		return versions(compare).some((version) => !found.includes(version));
	});
}

module.exports = { isOlder, migrate, migrationSql, mismatch };
