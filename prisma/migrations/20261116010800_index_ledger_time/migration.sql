-- The ledger comparison's question: what did we book in this window?
-- Alone in its migration: CONCURRENTLY, which lets live traffic write meanwhile, can't share a transaction.
CREATE INDEX CONCURRENTLY ledger_entries_created_at ON ledger_entries (created_at);
