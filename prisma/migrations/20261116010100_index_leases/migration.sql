-- The sweeper's question: whose lease is over? The index holds what is running and nothing else.
-- Alone in its migration: CONCURRENTLY, which lets live traffic write meanwhile, can't share a transaction.
CREATE INDEX CONCURRENTLY records_leases ON idempotency_records (locked_until) WHERE state = 'in_progress';
