-- One booking that counts for each record.
CREATE UNIQUE INDEX CONCURRENTLY ledger_counting_record_id ON ledger_entries (record_id) WHERE reversed_at IS NULL;
