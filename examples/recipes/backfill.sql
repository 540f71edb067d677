-- What is asked while backfill.ts works: first the queue, in PostgreSQL. Which parts wait, and why did some fail?
SELECT state, count(*) FROM pgboss.job WHERE name = 'backfill' GROUP BY state;
SELECT singleton_key AS project, data ->> 'part' AS part, output FROM pgboss.job WHERE state = 'failed';

-- Then the rows, in DuckDB, which reads them without an import. Runs and their scores by project:
SELECT split_part(filename, '/', -2) AS project, count(*) AS runs, median(score) AS median, avg(success::INT) AS succeeded
FROM read_json('backfill/rows/*/*.jsonl', filename = true, union_by_name = true)
WHERE score IS NOT NULL GROUP BY project ORDER BY runs DESC;

-- What was new, month by month:
SELECT date_trunc('month', try_cast(createdAt AS TIMESTAMP)) AS month, avg(dimensions.novelty) AS novelty
FROM read_json('backfill/rows/*/*.jsonl', union_by_name = true)
WHERE month IS NOT NULL GROUP BY month ORDER BY month;

-- Logs that are damaged, if there are any:
SELECT error.source, count(*) AS lines, min(error.message) AS first
FROM read_json('backfill/rows/*/*.jsonl', union_by_name = true)
WHERE error IS NOT NULL GROUP BY ALL ORDER BY lines DESC;
