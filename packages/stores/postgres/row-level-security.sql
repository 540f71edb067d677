-- A namespace for each tenant, whose name is that of the tenant's role. To be run once, after the
-- migrations, by the owner of the tables, with the right to create roles (CREATEROLE); then, for each tenant:
--
--   CREATE ROLE acme LOGIN PASSWORD '…' NOBYPASSRLS IN ROLE kp_novelty_tenant;
--
-- and in its processes: new PostgresStore({ namespace: "acme", … }). The functions run with
-- the rights of who calls them. Other roles that used the tables, but the owner, then see no rows, unless they get a
-- policy: CREATE POLICY app_all ON kp_novelty.head TO app USING (true), and the same ON kp_novelty.entries.
--
-- Tenants share locks: each can block the others with LOCK TABLE or the advisory lock of a namespace.
-- Tenants that must not do so need separate databases.

BEGIN;
DO LANGUAGE plpgsql $$
BEGIN
	-- Another database of the server may have it.
	IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname OPERATOR(pg_catalog.=) 'kp_novelty_tenant'::pg_catalog.name) THEN
		CREATE ROLE kp_novelty_tenant NOLOGIN;
	END IF;
END $$;
GRANT USAGE ON SCHEMA kp_novelty TO kp_novelty_tenant;
GRANT SELECT, INSERT, UPDATE, DELETE ON kp_novelty.head, kp_novelty.entries TO kp_novelty_tenant;
GRANT SELECT ON kp_novelty.migrations TO kp_novelty_tenant;

ALTER TABLE kp_novelty.head ENABLE ROW LEVEL SECURITY;
ALTER TABLE kp_novelty.entries ENABLE ROW LEVEL SECURITY;
-- Operator and type have their schema, so that no other is found by the search_path.
CREATE POLICY kp_novelty_own ON kp_novelty.head TO kp_novelty_tenant
	USING (namespace OPERATOR(pg_catalog.=) current_user::pg_catalog.text);
CREATE POLICY kp_novelty_own ON kp_novelty.entries TO kp_novelty_tenant
	USING (namespace OPERATOR(pg_catalog.=) current_user::pg_catalog.text);
COMMIT;
