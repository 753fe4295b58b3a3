-- One booking that counts for each reference of the provider. Also serves the search by reference, also by its beginning.
CREATE UNIQUE INDEX CONCURRENTLY ledger_counting_provider_ref ON ledger_entries (provider_ref text_pattern_ops) WHERE reversed_at IS NULL;
