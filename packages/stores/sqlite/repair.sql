-- Repairs a namespace whose scorers reject with INVALID_STORE: put its name in place of support-bots, and the number
-- of the entry that the error names in place of 4711. If its vector, kind or id is wrong, it becomes a forget of an
-- unused id. Times that decrease, or are more than a day ahead of the clock, which must be right, are corrected. A new
-- epoch makes all mirrors read the namespace again.
BEGIN IMMEDIATE;
UPDATE novelty_entries SET kind = 'forget', id = CAST('repaired ' || call AS BLOB), embedding = NULL
  WHERE namespace = (SELECT namespace FROM novelty_head WHERE name = 'support-bots') AND seq IN (4711);
UPDATE novelty_entries SET at = mended.at FROM (
    SELECT namespace, seq, max(CASE WHEN at > 1000 * unixepoch() + 86400000 THEN 1000 * unixepoch() ELSE max(at, 0) END)
      OVER (PARTITION BY namespace ORDER BY seq) AS at FROM novelty_entries
  ) AS mended WHERE mended.namespace = novelty_entries.namespace AND mended.seq = novelty_entries.seq
  AND novelty_entries.namespace = (SELECT namespace FROM novelty_head WHERE name = 'support-bots');
UPDATE novelty_head SET epoch = hex(randomblob(16)),
  at = (SELECT max(at) FROM novelty_entries WHERE namespace = novelty_head.namespace) WHERE name = 'support-bots';
COMMIT;
