-- Migration 1 of @knowledgepulse/scoring-stores. To be run in one transaction.
--
-- Roles that may create functions, operators or types in a schema of the search_path must not get their code run by
-- others. So nothing here depends on the search_path: names of the store and of PostgreSQL have their schema, arguments
-- have exact types, and bodies have a search_path of their own.
SELECT pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended('kp_novelty_migrations'::pg_catalog.text, 7220::bigint));
DO LANGUAGE plpgsql $$
BEGIN
	-- Not IF NOT EXISTS, which needs the right to create schemas even if it exists.
	IF NOT EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE nspname OPERATOR(pg_catalog.=) 'kp_novelty'::pg_catalog.name) THEN
		CREATE SCHEMA kp_novelty;
	-- Its owner may replace what is in it.
	ELSIF NOT EXISTS (
		SELECT FROM pg_catalog.pg_namespace n JOIN pg_catalog.pg_roles r ON r.oid OPERATOR(pg_catalog.=) n.nspowner
		WHERE n.nspname OPERATOR(pg_catalog.=) 'kp_novelty'::pg_catalog.name
			AND (r.rolsuper OR r.rolname OPERATOR(pg_catalog.=) current_user)
	) THEN
		RAISE EXCEPTION 'the schema kp_novelty belongs neither to "%" nor to a superuser', current_user
			USING ERRCODE = 'KP002';
	END IF;
END $$;
CREATE TABLE IF NOT EXISTS kp_novelty.migrations (
	version integer PRIMARY KEY,
	applied_at timestamp with time zone NOT NULL DEFAULT CURRENT_TIMESTAMP
);
INSERT INTO kp_novelty.migrations (version) VALUES (1);

-- One row of kp_novelty.head for each namespace, one row of kp_novelty.entries for each entry. All changes go through
-- the functions, each in one statement, without state outside their transaction, so that connections may be pooled.
-- Names of functions contain a version, so that a process finds the version that it knows, or none. Connections keep
-- plans that were made while a table was empty, when every plan was good. So sequential scans are off, and only the
-- primary key begins with the namespace.
CREATE TABLE kp_novelty.head (
	namespace pg_catalog.text COLLATE pg_catalog."C" PRIMARY KEY,
	-- Changes whenever the history changes.
	epoch pg_catalog.uuid NOT NULL DEFAULT pg_catalog.gen_random_uuid(),
	-- seq of the oldest entry that is kept (seq + 1 if there is none), and of the newest (0).
	first bigint NOT NULL DEFAULT 1,
	seq bigint NOT NULL DEFAULT 0,
	-- Time of the newest entry, in milliseconds since 1970.
	at bigint NOT NULL DEFAULT 0,
	-- The header, which all scorers must share.
	model pg_catalog.text COLLATE pg_catalog."C" NOT NULL,
	max_elements bigint NOT NULL,
	ttl_ms double precision
) WITH (fillfactor = 50);

CREATE TABLE kp_novelty.entries (
	seq bigint NOT NULL,
	at bigint NOT NULL,
	call pg_catalog.uuid NOT NULL,
	kind pg_catalog.text NOT NULL,
	namespace pg_catalog.text COLLATE pg_catalog."C" NOT NULL,
	id pg_catalog.text COLLATE pg_catalog."C",
	-- Little-endian float32, as many as the model gives; null once forgotten.
	embedding pg_catalog.bytea,
	PRIMARY KEY (namespace, seq),
	UNIQUE (call, namespace)
);
-- Embeddings are kept in the row unless longer than a page.
ALTER TABLE kp_novelty.entries ALTER COLUMN embedding SET STORAGE MAIN;
-- An id may be too long for an index key.
CREATE INDEX entries_id ON kp_novelty.entries (pg_catalog.hashtextextended(id, 0::bigint), namespace)
	WHERE kind OPERATOR(pg_catalog.=) 'add'::pg_catalog.text AND id IS NOT NULL;

-- The clock of all namespaces, in milliseconds since 1970.
CREATE FUNCTION kp_novelty.now_v1() RETURNS bigint LANGUAGE sql VOLATILE AS $$
	SELECT pg_catalog.floor(EXTRACT(epoch FROM pg_catalog.clock_timestamp()) OPERATOR(pg_catalog.*) 1000::numeric)::bigint
$$;

-- Starts a new epoch in a namespace whose history has changed, and sets its head from the entries, which it numbers anew if
-- others have deleted some: upwards, so that no number is taken twice meanwhile.
CREATE FUNCTION kp_novelty.renew_v1(p_namespace pg_catalog.text) RETURNS kp_novelty.head LANGUAGE plpgsql
	SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
	h kp_novelty.head;
	v_last bigint;
	v_is_whole boolean;
BEGIN
	SELECT max(l.seq), max(l.seq) - min(l.seq) < count(*) INTO v_last, v_is_whole
		FROM kp_novelty.entries l WHERE l.namespace = p_namespace;
	IF NOT v_is_whole THEN
		UPDATE kp_novelty.entries l SET seq = v_last + m.number FROM (
				SELECT n.seq, row_number() OVER (ORDER BY n.seq) AS number
				FROM kp_novelty.entries n WHERE n.namespace = p_namespace
			) m WHERE l.namespace = p_namespace AND l.seq = m.seq;
	END IF;
	UPDATE kp_novelty.head SET epoch = gen_random_uuid(), (first, seq, at) = (
			SELECT coalesce(min(l.seq), 1), coalesce(max(l.seq), 0), coalesce(max(l.at), 0)
			FROM kp_novelty.entries l WHERE l.namespace = p_namespace
		) WHERE namespace = p_namespace RETURNING * INTO h;
	RETURN h;
END $$;

-- Returns a page that continues after p_after: a row that describes the page, then rows of about 24 entries, each
-- small enough for one read of a client. Such a row has the entries as JSON (seq, at, kind, call, id, bytes of the
-- embedding) and all embeddings, contiguous, in base64. The caller's own entries, beyond p_own, have no embeddings. An
-- id that is longer than any, which others have written, is read as NULL.
CREATE FUNCTION kp_novelty.page_v1(
	h kp_novelty.head, p_after bigint, p_reset boolean, p_limit integer, p_own bigint
) RETURNS TABLE (page pg_catalog.json, entries pg_catalog.json, embeddings pg_catalog.text) LANGUAGE plpgsql STABLE
	SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
	RETURN QUERY SELECT json_build_object('epoch', h.epoch, 'head', h.seq, 'first', h.first, 'reset', p_reset,
		'model', h.model, 'maxElements', h.max_elements, 'ttlMs', h.ttl_ms), NULL::json, NULL::text;
	RETURN QUERY SELECT NULL::json,
			json_agg(json_build_array(n.seq, n.at, n.kind, n.call, n.id, octet_length(n.embedding))),
			encode(coalesce(string_agg(n.embedding, ''), ''), 'base64')
		FROM (
			SELECT l.seq, l.at, l.kind, l.call,
				CASE WHEN octet_length(l.id) <= 2048 THEN l.id END AS id,
				CASE WHEN l.seq <= p_own THEN l.embedding END AS embedding
			FROM kp_novelty.entries l WHERE l.namespace = h.namespace AND l.seq > p_after AND l.seq <= h.seq
			ORDER BY l.seq LIMIT p_limit
		) n GROUP BY n.seq / 24 ORDER BY min(n.seq);
END $$;

-- Whether a page continues after a position; false if it starts with the oldest entry. Null if the namespace needs a new
-- epoch: its newest entry, the one at the position unless it was deleted as old, or one of the page is missing.
CREATE FUNCTION kp_novelty.continues_v1(
	h kp_novelty.head, p_epoch pg_catalog.uuid, p_seq bigint, p_call pg_catalog.uuid, p_limit integer
) RETURNS boolean LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	v_here boolean := coalesce(p_epoch = h.epoch AND p_seq BETWEEN h.first AND h.seq AND EXISTS (
		SELECT FROM kp_novelty.entries l WHERE l.namespace = h.namespace AND l.seq = p_seq AND l.call = p_call), false);
	v_after bigint := CASE WHEN v_here THEN p_seq ELSE h.first - 1 END;
BEGIN
	IF (p_epoch = h.epoch AND p_seq >= h.first AND NOT v_here) OR h.seq <> coalesce(
			(SELECT max(l.seq) FROM kp_novelty.entries l WHERE l.namespace = h.namespace), 0)
		OR h.seq > v_after AND least(p_limit, h.seq - v_after) > (SELECT count(*) FROM kp_novelty.entries l
			WHERE l.namespace = h.namespace AND l.seq > v_after AND l.seq <= least(v_after + p_limit, h.seq)) THEN
		RETURN NULL;
	END IF;
	RETURN v_here;
END $$;

-- Appends entries to a namespace under its lock; creates the namespace if it is missing. Returns the page after the
-- position (p_epoch, p_seq, p_call). p_embeddings has the embeddings of the adds, contiguous.
CREATE FUNCTION kp_novelty.append_v1(
	p_namespace pg_catalog.text, p_model pg_catalog.text, p_max_elements bigint, p_ttl_ms double precision,
	p_epoch pg_catalog.uuid, p_seq bigint, p_call pg_catalog.uuid, p_limit integer,
	p_keep_from double precision, p_durable boolean, p_lock_timeout integer,
	p_calls pg_catalog.uuid[], p_kinds pg_catalog.text[], p_ids pg_catalog.text[], p_embeddings pg_catalog.bytea
) RETURNS TABLE (page pg_catalog.json, entries pg_catalog.json, embeddings pg_catalog.text) LANGUAGE plpgsql
	SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off AS $$
#variable_conflict use_column
DECLARE
	h kp_novelty.head;
	v_here boolean;
	v_head bigint;
	v_now bigint;
	v_added bigint;
	v_seq bigint;
	v_bound double precision;
	v_after bigint;
	-- The size of each embedding in bytes.
	v_bytes integer := octet_length(p_embeddings) / greatest(cardinality(array_positions(p_kinds, 'add')), 1);
BEGIN
	IF current_setting('transaction_isolation') <> 'read committed' THEN
		-- A snapshot taken before the lock would not show what others have appended.
		RAISE EXCEPTION 'the isolation level is "%", not "read committed"', current_setting('transaction_isolation')
			USING ERRCODE = 'KP001';
	END IF;
	PERFORM set_config('lock_timeout', p_lock_timeout::text, true);
	IF NOT (p_durable OR p_kinds && '{forget,clear}') THEN
		PERFORM set_config('synchronous_commit', 'off', true);
	END IF;
	-- Waiting for this lock is fair, and cheaper than for a row lock.
	PERFORM pg_advisory_xact_lock(hashtextextended(p_namespace, 7220));
	SELECT * INTO h FROM kp_novelty.head WHERE namespace = p_namespace FOR UPDATE;
	IF NOT FOUND THEN
		INSERT INTO kp_novelty.head (namespace, model, max_elements, ttl_ms)
			VALUES (p_namespace, p_model, p_max_elements, p_ttl_ms);
		h := kp_novelty.renew_v1(p_namespace);
	END IF;
	IF (h.model, h.max_elements) <> (p_model, p_max_elements) OR h.ttl_ms IS DISTINCT FROM p_ttl_ms THEN
		RETURN QUERY SELECT * FROM kp_novelty.page_v1(h, 0, false, 0, 0);
		RETURN;
	END IF;

	v_here := kp_novelty.continues_v1(h, p_epoch, p_seq, p_call, p_limit);
	IF v_here IS NULL THEN
		h := kp_novelty.renew_v1(p_namespace);
		v_here := false;
	END IF;
	v_head := h.seq;
	v_now := kp_novelty.now_v1();

	IF cardinality(p_calls) > 0 THEN
		-- A call that exists, or is twice in a batch, is a retry. Retried entries before a clear were deleted and must
		-- not come back. LIMIT makes every plan look up each call.
		INSERT INTO kp_novelty.entries (namespace, seq, at, call, kind, id, embedding)
			SELECT p_namespace, v_head + row_number() OVER (ORDER BY e.n), greatest(h.at, v_now), e.call, e.kind, e.id,
				CASE WHEN e.kind = 'add' THEN substring(p_embeddings FROM (v_bytes * (e.place - 1) + 1)::integer FOR v_bytes) END
			FROM (
				SELECT u.*, l.seq, count(*) FILTER (WHERE u.kind = 'add') OVER (ORDER BY u.n ROWS UNBOUNDED PRECEDING) AS place,
					max(u.n) FILTER (WHERE u.kind = 'clear' AND l.seq > 0) OVER () AS cleared,
					min(u.n) OVER (PARTITION BY u.call) AS earliest
				FROM unnest(p_calls, p_kinds, p_ids) WITH ORDINALITY u(call, kind, id, n) LEFT JOIN LATERAL (
					SELECT seq FROM kp_novelty.entries WHERE namespace = p_namespace AND call = u.call LIMIT 1
				) l ON true
			) e WHERE e.seq IS NULL AND e.n = e.earliest AND e.n > coalesce(e.cleared, 0);
		GET DIAGNOSTICS v_added = ROW_COUNT;
		IF v_added > 0 THEN
			h.seq := v_head + v_added;
			h.at := greatest(h.at, v_now);
			IF 'forget' = ANY (p_kinds) THEN
				-- Dynamic, because a plan made for a small table would not use the index of ids.
				EXECUTE 'UPDATE kp_novelty.entries l SET embedding = NULL FROM kp_novelty.entries f
					WHERE f.namespace = $1 AND f.seq > $2 AND f.kind = ''forget'' AND l.namespace = $1 AND l.kind = ''add''
					AND hashtextextended(l.id, 0) = hashtextextended(f.id, 0) AND l.id = f.id
					AND l.seq < f.seq AND l.embedding IS NOT NULL' USING p_namespace, v_head;
			END IF;
			IF 'clear' = ANY (p_kinds) THEN
				SELECT max(l.seq) INTO v_seq FROM kp_novelty.entries l
					WHERE l.namespace = p_namespace AND l.seq > v_head AND l.kind = 'clear';
				DELETE FROM kp_novelty.entries l WHERE l.namespace = p_namespace AND l.seq < v_seq;
				h.first := greatest(h.first, v_seq);
			END IF;
		END IF;
	END IF;

	-- A call may be retried within a minute, and must be found.
	v_bound := CASE WHEN p_keep_from < v_now - 60000 THEN p_keep_from WHEN p_keep_from IS NOT NULL THEN v_now - 60000 END;
	IF coalesce((SELECT l.at FROM kp_novelty.entries l WHERE l.namespace = p_namespace AND l.seq = h.first), 0) < v_bound THEN
		DELETE FROM kp_novelty.entries l WHERE l.namespace = p_namespace AND l.at < v_bound
			AND l.seq >= h.first AND l.seq < least(h.first + 2 * cardinality(p_calls) + 16, h.seq);
		-- A gap before these must be noticed by readers.
		IF FOUND THEN
			SELECT min(l.seq) INTO h.first FROM kp_novelty.entries l WHERE l.namespace = p_namespace AND l.seq >= h.first;
		END IF;
	END IF;
	UPDATE kp_novelty.head SET first = h.first, seq = h.seq, at = h.at
		WHERE namespace = p_namespace AND (first, seq) <> (h.first, h.seq);

	v_here := v_here AND p_seq >= h.first - 1;
	v_after := CASE WHEN v_here THEN p_seq ELSE h.first - 1 END;
	RETURN QUERY SELECT * FROM kp_novelty.page_v1(h, v_after, NOT v_here, p_limit, v_head);
END $$;

-- Returns the page after a position, or nothing if a namespace or an epoch must be created, which an empty append
-- does. STABLE: reads one snapshot and writes nothing, so that a standby can answer.
CREATE FUNCTION kp_novelty.read_v1(
	p_namespace pg_catalog.text, p_model pg_catalog.text, p_max_elements bigint, p_ttl_ms double precision,
	p_epoch pg_catalog.uuid, p_seq bigint, p_call pg_catalog.uuid, p_limit integer
) RETURNS TABLE (page pg_catalog.json, entries pg_catalog.json, embeddings pg_catalog.text) LANGUAGE plpgsql STABLE
	SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off AS $$
#variable_conflict use_column
DECLARE
	h kp_novelty.head;
	v_here boolean;
BEGIN
	SELECT * INTO h FROM kp_novelty.head WHERE namespace = p_namespace;
	IF NOT FOUND THEN
		RETURN;
	END IF;
	IF (h.model, h.max_elements) <> (p_model, p_max_elements) OR h.ttl_ms IS DISTINCT FROM p_ttl_ms THEN
		RETURN QUERY SELECT * FROM kp_novelty.page_v1(h, 0, false, 0, 0);
		RETURN;
	END IF;
	v_here := kp_novelty.continues_v1(h, p_epoch, p_seq, p_call, p_limit);
	IF v_here IS NULL THEN
		RETURN;
	END IF;
	RETURN QUERY SELECT * FROM kp_novelty.page_v1(
		h, CASE WHEN v_here THEN p_seq ELSE h.first - 1 END, NOT v_here, p_limit, h.seq);
END $$;

-- Deletes the entries that are older than a time, in milliseconds since 1970. Returns how many there were.
CREATE FUNCTION kp_novelty.forget_before_v1(p_namespace pg_catalog.text, p_before bigint) RETURNS bigint LANGUAGE plpgsql
	SET search_path = pg_catalog, pg_temp SET lock_timeout = '5s' AS $$
DECLARE
	v_count bigint;
BEGIN
	PERFORM pg_advisory_xact_lock(hashtextextended(p_namespace, 7220));
	DELETE FROM kp_novelty.entries WHERE namespace = p_namespace AND at < p_before;
	GET DIAGNOSTICS v_count = ROW_COUNT;
	IF v_count > 0 THEN
		PERFORM kp_novelty.renew_v1(p_namespace);
	END IF;
	RETURN v_count;
END $$;

-- Deletes a namespace. Returns whether there was one.
CREATE FUNCTION kp_novelty.drop_v1(p_namespace pg_catalog.text) RETURNS boolean LANGUAGE plpgsql
	SET search_path = pg_catalog, pg_temp SET lock_timeout = '5s' AS $$
BEGIN
	PERFORM pg_advisory_xact_lock(hashtextextended(p_namespace, 7220));
	DELETE FROM kp_novelty.entries WHERE namespace = p_namespace;
	DELETE FROM kp_novelty.head WHERE namespace = p_namespace;
	RETURN FOUND;
END $$;
