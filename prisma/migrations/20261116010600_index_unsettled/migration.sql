-- The scraper's and the console's questions: how many are retryable, unknown, dead letters, and which has been unknown
-- for longest? Records on their way to an answer are never in it, so an ordinary request pays nothing for it.
-- Alone in its migration: CONCURRENTLY, which lets live traffic write meanwhile, can't share a transaction.
CREATE INDEX CONCURRENTLY records_unsettled ON idempotency_records (state, dead_lettered_at, settles_at) WHERE state IN ('failed_retryable', 'unknown');
