-- The new ones are there: the old ones forbid what a reversed booking makes free. They keep their names, by which a booking
-- that is there already is recognised.

SET lock_timeout = '5s';

DROP INDEX ledger_entries_provider_ref_key, ledger_entries_record_id_key;
ALTER INDEX ledger_counting_provider_ref RENAME TO ledger_entries_provider_ref_key;
ALTER INDEX ledger_counting_record_id RENAME TO ledger_entries_record_id_key;

ALTER TABLE evidence VALIDATE CONSTRAINT evidence_known_source;
ALTER TABLE evidence RENAME CONSTRAINT evidence_known_source TO evidence_source;
