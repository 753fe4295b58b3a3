-- The overview's question: which keys are being replayed without end right now? Only what was replayed often is in it, by
-- when that was. By the number alone, every key that ever was would be read.
-- Alone in its migration: CONCURRENTLY, which lets live traffic write meanwhile, can't share a transaction.
CREATE INDEX CONCURRENTLY records_storms ON idempotency_records (last_replayed_at) WHERE replay_count >= 20;
