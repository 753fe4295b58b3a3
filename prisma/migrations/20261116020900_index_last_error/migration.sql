-- Which keys failed in this way? Only what has an error is in it, with all that the list filters by, so that a filter
-- is answered from the index alone. A request that goes well never touches it.
-- Alone in its migration: CONCURRENTLY, which lets live traffic write meanwhile, can't share a transaction.
CREATE INDEX CONCURRENTLY records_by_error ON idempotency_records (last_error_code, created_at, id, tenant_id, endpoint, state) WHERE last_error_code IS NOT NULL;
