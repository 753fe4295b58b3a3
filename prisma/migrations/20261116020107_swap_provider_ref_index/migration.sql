-- As with keys: unique throughout, and under its old name.

SET lock_timeout = '5s';

DROP INDEX ledger_entries_provider_ref_key;
ALTER INDEX ledger_unique_provider_ref RENAME TO ledger_entries_provider_ref_key;
