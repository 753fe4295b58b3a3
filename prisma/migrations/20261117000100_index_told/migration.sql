-- The sweeper's third question: who was told of an effect and did not live to settle with it? Nobody, as a rule, and the
-- index is empty. Without it each sweep reads every record that is unknown or may be tried again.
-- Alone in its migration: CONCURRENTLY, which lets live traffic write meanwhile, can't share a transaction.
CREATE INDEX CONCURRENTLY records_told ON idempotency_records (id) WHERE effect_evidence AND state IN ('failed_retryable', 'unknown');
