-- A provider's reference by how it begins, from the index that keeps it unique. It takes the place of the old one in the
-- next migration.
-- Alone in its migration: CONCURRENTLY, which lets live traffic write meanwhile, can't share a transaction.
CREATE UNIQUE INDEX CONCURRENTLY ledger_unique_provider_ref ON ledger_entries (provider_ref text_pattern_ops);
