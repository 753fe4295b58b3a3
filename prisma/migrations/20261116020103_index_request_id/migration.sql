-- "Here is my request id": whole, or how it begins. text_pattern_ops compares bytes: prefixes need that in databases
-- whose collation sorts words. What is running is not in it and is looked through instead, so a reservation pays
-- nothing. Settling adds one entry, expiring another.
-- Alone in its migration: CONCURRENTLY, which lets live traffic write meanwhile, can't share a transaction.
CREATE INDEX CONCURRENTLY records_request_id ON idempotency_records (request_id text_pattern_ops) WHERE state IN ('completed', 'failed_retryable', 'unknown', 'expired');
