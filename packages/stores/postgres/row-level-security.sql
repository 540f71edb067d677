-- A namespace for each tenant, whose name is that of the tenant's role. To be run once, after the
-- migrations, by the owner of the tables; then, for each tenant:
--
--   CREATE ROLE acme LOGIN PASSWORD '…' NOBYPASSRLS IN ROLE kp_novelty_tenant;
--
-- and in its processes: new PostgresStore({ namespace: "acme", … }). The functions run with
-- the rights of who calls them.
--
-- Tenants share locks: each can block the others with LOCK TABLE or the advisory lock of a namespace.
-- Tenants that must not do so need separate databases.

CREATE ROLE kp_novelty_tenant NOLOGIN;
GRANT SELECT, INSERT, UPDATE, DELETE ON kp_novelty_head, kp_novelty_entries TO kp_novelty_tenant;
GRANT SELECT ON kp_novelty_migrations TO kp_novelty_tenant;

ALTER TABLE kp_novelty_head ENABLE ROW LEVEL SECURITY;
ALTER TABLE kp_novelty_entries ENABLE ROW LEVEL SECURITY;
CREATE POLICY kp_novelty_own ON kp_novelty_head TO kp_novelty_tenant USING (namespace = current_user::text);
CREATE POLICY kp_novelty_own ON kp_novelty_entries TO kp_novelty_tenant USING (namespace = current_user::text);
