-- A key by how it begins, from the index that keeps it unique: the same entries in another order. It takes the place of
-- the old one in the next migration.
-- Alone in its migration: CONCURRENTLY, which lets live traffic write meanwhile, can't share a transaction.
CREATE UNIQUE INDEX CONCURRENTLY records_unique_key ON idempotency_records (tenant_id, endpoint, key text_pattern_ops);
