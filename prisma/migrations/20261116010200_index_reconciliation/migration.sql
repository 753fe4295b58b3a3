-- The reconciler's question: which unknown outcome is due? Dead letters wait for people.
-- Alone in its migration: CONCURRENTLY, which lets live traffic write meanwhile, can't share a transaction.
CREATE INDEX CONCURRENTLY records_to_reconcile ON idempotency_records (reconcile_after) WHERE state = 'unknown' AND dead_lettered_at IS NULL;
