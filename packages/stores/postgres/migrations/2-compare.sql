-- Comparison in the database, with pgvector. A namespace is either mirrored or compared here.

CREATE EXTENSION IF NOT EXISTS vector;
DO $$
BEGIN
	IF string_to_array((SELECT extversion FROM pg_extension WHERE extname = 'vector'), '.')::integer[] < '{0,8,4}' THEN
		RAISE EXCEPTION 'pgvector 0.8.4 or later is required' USING ERRCODE = 'KP001';
	END IF;
END $$;

-- In place of `embedding`.
ALTER TABLE kp_novelty_log ADD COLUMN vector vector;
ALTER TABLE kp_novelty_log ALTER COLUMN vector SET STORAGE MAIN;
-- Adds before seq window_start have been evicted or have expired; `live` is how many have not, nor been forgotten.
ALTER TABLE kp_novelty_head ADD COLUMN window_start bigint NOT NULL DEFAULT 1;
ALTER TABLE kp_novelty_head ADD COLUMN live bigint NOT NULL DEFAULT 0;

-- Compares and adds, in order; returns a row for each entry. Kind 'peek' adds nothing, and takes no lock.
-- p_embeddings has those of adds and peeks, one after the other.
CREATE FUNCTION kp_novelty_compare_v2(
	p_namespace text, p_model text, p_max_elements bigint, p_ttl_ms double precision,
	p_durable boolean, p_lock_timeout integer,
	p_calls uuid[], p_kinds text[], p_ids text[], p_embeddings real[]
) RETURNS TABLE (seq bigint, similarity double precision, nearest text, removed bigint)
LANGUAGE plpgsql SET plan_cache_mode = force_custom_plan AS $$
#variable_conflict use_variable
DECLARE
	h kp_novelty_head;
	v_now bigint := kp_novelty_now_v1();
	v_at bigint;
	v_repeated boolean;
	v_vector vector;
	v_vectors integer := 0;
	-- Numbers of each vector.
	v_length integer := cardinality(p_embeddings)
		/ greatest(cardinality(array_positions(p_kinds, 'add') || array_positions(p_kinds, 'peek')), 1);
	v_clear integer := 0;
	v_clear_seq bigint;
	v_oldest record;
BEGIN
	IF p_kinds <@ '{peek}' THEN
		SELECT * INTO h FROM kp_novelty_head WHERE namespace = p_namespace;
	ELSE
		h := kp_novelty_lock_v1(p_namespace, p_model, p_max_elements, p_ttl_ms, 'database',
			p_durable OR p_kinds && '{forget,clear}', p_lock_timeout);
	END IF;
	IF h.compare <> 'database' THEN
		RAISE EXCEPTION 'namespace "%" was created without compare: "database"', p_namespace
			USING ERRCODE = 'KP001';
	END IF;
	IF (h.model, h.max_elements) <> (p_model, p_max_elements) OR (h.epoch IS NOT NULL AND h.ttl_ms IS DISTINCT FROM p_ttl_ms) THEN
		RAISE EXCEPTION 'namespace "%" has model "%", maxElements % and ttlMs %, not "%", % and %', p_namespace,
			h.model, h.max_elements, coalesce(h.ttl_ms::text, 'null'),
			p_model, p_max_elements, coalesce(p_ttl_ms::text, 'null') USING ERRCODE = 'KP001';
	END IF;
	IF 'clear' = ANY (p_kinds) THEN
		-- What was before a clear that has been appended already is gone, and must not come back.
		SELECT e.n, l.seq INTO v_clear, v_clear_seq
			FROM unnest(p_calls, p_kinds) WITH ORDINALITY e(call, kind, n)
			JOIN kp_novelty_log l ON l.namespace = p_namespace AND l.call = e.call
			WHERE e.kind = 'clear' ORDER BY e.n DESC LIMIT 1;
	END IF;

	FOR i IN 1 .. cardinality(p_kinds) LOOP
		similarity := NULL;
		nearest := NULL;
		removed := NULL;
		v_repeated := false;
		IF p_kinds[i] <> 'peek' THEN
			SELECT l.seq, l.at INTO seq, v_at FROM kp_novelty_log l WHERE l.namespace = p_namespace AND l.call = p_calls[i];
			v_repeated := FOUND;
		END IF;
		IF p_kinds[i] IN ('add', 'peek') THEN
			v_vector := p_embeddings[v_length * v_vectors + 1 : v_length * (v_vectors + 1)]::vector;
			v_vectors := v_vectors + 1;
		END IF;
		IF NOT v_repeated AND i < v_clear THEN
			seq := v_clear_seq;
			removed := CASE WHEN p_kinds[i] = 'forget' THEN 0 END;
			RETURN NEXT;
			CONTINUE;
		END IF;
		IF NOT v_repeated THEN
			seq := coalesce(h.seq, 0) + 1;
			v_at := greatest(h.at, v_now);
		END IF;

		IF p_kinds[i] IN ('add', 'peek') THEN
			SELECT n.similarity, n.id INTO similarity, nearest FROM (
				SELECT -(l.vector <#> v_vector) AS similarity, l.id, l.seq FROM kp_novelty_log l
				WHERE l.namespace = p_namespace AND l.seq >= h.window_start AND l.seq < seq AND l.vector IS NOT NULL
					AND (h.ttl_ms IS NULL OR l.at > v_at - h.ttl_ms)
			) n ORDER BY n.similarity DESC, n.seq LIMIT 1;
		END IF;
		IF p_kinds[i] = 'forget' AND v_repeated THEN
			removed := 0;
		ELSIF p_kinds[i] = 'forget' THEN
			WITH gone AS (
				UPDATE kp_novelty_log l SET vector = NULL WHERE l.namespace = p_namespace AND l.kind = 'add'
				AND hashtextextended(l.id, 0) = hashtextextended(p_ids[i], 0) AND l.id = p_ids[i] AND l.vector IS NOT NULL
				RETURNING l.seq, l.at
			)
			SELECT count(*) FILTER (WHERE h.ttl_ms IS NULL OR g.at > v_at - h.ttl_ms), h.live - count(*)
				INTO removed, h.live FROM gone g WHERE g.seq >= h.window_start;
		ELSIF p_kinds[i] = 'clear' AND NOT v_repeated THEN
			DELETE FROM kp_novelty_log l WHERE l.namespace = p_namespace AND l.seq < seq;
			h.first := seq;
			h.window_start := seq;
			h.live := 0;
		ELSIF p_kinds[i] = 'add' AND NOT v_repeated THEN
			LOOP
				SELECT l.seq, l.at INTO v_oldest FROM kp_novelty_log l
					WHERE l.namespace = p_namespace AND l.seq >= h.window_start AND l.vector IS NOT NULL
					ORDER BY l.seq LIMIT 1;
				EXIT WHEN NOT FOUND OR (h.live < h.max_elements AND (h.ttl_ms IS NULL OR v_oldest.at > v_at - h.ttl_ms));
				h.window_start := v_oldest.seq + 1;
				h.live := h.live - 1;
			END LOOP;
			h.live := h.live + 1;
		END IF;
		IF p_kinds[i] <> 'peek' AND NOT v_repeated THEN
			INSERT INTO kp_novelty_log (namespace, seq, at, call, kind, id, vector)
				VALUES (p_namespace, seq, v_at, p_calls[i], p_kinds[i], p_ids[i],
					CASE WHEN p_kinds[i] = 'add' THEN v_vector END);
			h.seq := seq;
			h.at := v_at;
		ELSIF p_kinds[i] = 'peek' THEN
			seq := coalesce(h.seq, 0);
		END IF;
		RETURN NEXT;
	END LOOP;

	IF NOT p_kinds <@ '{peek}' THEN
		-- Nobody reads what is outside of the window, but within a minute a call may be repeated, and must be found.
		DELETE FROM kp_novelty_log l WHERE l.namespace = p_namespace AND l.at < v_now - 60000 AND l.seq >= h.first
			AND l.seq < least(h.window_start, h.seq, h.first + 2 * cardinality(p_kinds) + 16);
		IF FOUND THEN
			SELECT min(l.seq) INTO h.first FROM kp_novelty_log l WHERE l.namespace = p_namespace AND l.seq >= h.first;
		END IF;
		UPDATE kp_novelty_head SET first = h.first, seq = h.seq, at = h.at, window_start = h.window_start, live = h.live
			WHERE namespace = p_namespace;
	END IF;
END $$;
