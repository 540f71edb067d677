/**
 * Scores a trace in a function that lives for one call: compared with the last 1,000 in PostgreSQL, by pgvector.
 *
 *     CREATE EXTENSION vector;
 *     CREATE TABLE traces (seq bigserial PRIMARY KEY, id text, embedding vector(384));
 *
 * Without an index the search is exact, and similarities agree with those of a scorer to 1e-6. Two concurrent calls
 * with the same trace may both count as new, unless the query is in a transaction that first takes a lock:
 * SELECT pg_advisory_xact_lock(1). Up to PostgreSQL 14: REVOKE CREATE ON SCHEMA public FROM PUBLIC.
 */
import { embed, scoreWith } from "@knowledgepulse/scoring";
import pg from "pg";

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });

export async function score(trace) {
	const embedding = JSON.stringify([...(await embed(trace))]);
	// Compares, then adds: a query does not see its own INSERT.
	const { rows } = await pool.query(
		`WITH added AS (INSERT INTO traces (id, embedding) VALUES ($1, $2))
		 SELECT id AS nearest, least(1, -(embedding <#> $2)) AS "maxSimilarity"
		 FROM (SELECT * FROM traces ORDER BY seq DESC LIMIT 1000) AS known
		 ORDER BY embedding <#> $2, seq LIMIT 1`,
		[trace.id, embedding],
	);
	return scoreWith(trace, rows[0] ?? { maxSimilarity: null }).score;
}

export const close = () => pool.end();
