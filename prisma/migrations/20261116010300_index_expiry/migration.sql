-- The reaper's first question: which key has run out?
-- Alone in its migration: CONCURRENTLY, which lets live traffic write meanwhile, can't share a transaction.
CREATE INDEX CONCURRENTLY records_to_expire ON idempotency_records (expires_at) WHERE state IN ('completed', 'failed_retryable');
