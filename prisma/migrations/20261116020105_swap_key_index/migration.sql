-- Both indexes keep keys unique, so there is no moment in which two records could have one. Equality, and ON CONFLICT,
-- which names columns, work with either; the name stays what it was.

SET lock_timeout = '5s';

DROP INDEX idempotency_records_tenant_id_endpoint_key_key;
ALTER INDEX records_unique_key RENAME TO idempotency_records_tenant_id_endpoint_key_key;
