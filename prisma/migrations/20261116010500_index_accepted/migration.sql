-- The sweeper's other question: which accepted request has nobody working on it?
-- Alone in its migration: CONCURRENTLY, which lets live traffic write meanwhile, can't share a transaction.
CREATE INDEX CONCURRENTLY records_accepted ON idempotency_records (created_at) WHERE async AND state IN ('pending', 'failed_retryable');
