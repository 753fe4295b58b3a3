-- The misuse of one tenant, newest first.
-- Alone in its migration: CONCURRENTLY, which lets live traffic write meanwhile, can't share a transaction.
CREATE INDEX CONCURRENTLY misuse_tenant_id_at_id_idx ON misuse (tenant_id, at DESC, id DESC);
