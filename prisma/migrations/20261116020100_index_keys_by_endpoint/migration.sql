-- The operators' list: what is of this state and endpoint, newest or oldest first? One walk for each state and endpoint,
-- merged, gives any page of any list in the time of a page, without a count and without a sort.
-- What is pending or in progress is not in it: a reservation pays nothing. Settling adds one entry, expiring another.
-- Alone in its migration: CONCURRENTLY, which lets live traffic write meanwhile, can't share a transaction.
CREATE INDEX CONCURRENTLY records_by_endpoint ON idempotency_records (state, endpoint, created_at, id) WHERE state IN ('completed', 'failed_retryable', 'unknown', 'expired');
