-- Repairs a namespace whose scorers reject with INVALID_STORE: put its name in place of support-bots, and the number
-- of the entry that the error names in place of 4711. If its vector, kind or id is wrong, it becomes a forget of an
-- unused id. Times that decrease, or are more than a day ahead of the clock, which must be right, are corrected. A new
-- epoch makes all mirrors read the namespace again.
BEGIN;
SET LOCAL search_path = pg_catalog, pg_temp;
SELECT pg_advisory_xact_lock(hashtextextended('support-bots', 7220));
UPDATE kp_novelty.entries SET kind = 'forget', id = 'repaired ' || call, embedding = NULL
  WHERE namespace = 'support-bots' AND seq IN (4711);
UPDATE kp_novelty.entries SET at = mended.at FROM (
    SELECT seq, max(CASE WHEN at > now_v1 + 86400000 THEN now_v1 ELSE greatest(at, 0) END) OVER (ORDER BY seq) AS at
    FROM kp_novelty.entries, kp_novelty.now_v1() WHERE namespace = 'support-bots'
  ) AS mended WHERE namespace = 'support-bots' AND entries.seq = mended.seq AND entries.at <> mended.at;
SELECT kp_novelty.renew_v1('support-bots');
COMMIT;
