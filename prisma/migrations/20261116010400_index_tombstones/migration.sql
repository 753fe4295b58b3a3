-- The reaper's second question: which tombstone has stood long enough?
-- Alone in its migration: CONCURRENTLY, which lets live traffic write meanwhile, can't share a transaction.
CREATE INDEX CONCURRENTLY records_tombstones ON idempotency_records (expired_at) WHERE state = 'expired';
