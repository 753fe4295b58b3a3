-- The same list of one tenant. Without it a small tenant's page would be looked for among everybody else's rows.
-- Again nothing for a reservation, one entry for settling, one for expiring.
-- Alone in its migration: CONCURRENTLY, which lets live traffic write meanwhile, can't share a transaction.
CREATE INDEX CONCURRENTLY records_by_tenant ON idempotency_records (tenant_id, state, endpoint, created_at, id) WHERE state IN ('completed', 'failed_retryable', 'unknown', 'expired');
