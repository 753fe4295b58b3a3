-- Orders, refunds and ledger rows outlive their record. The foreign keys that cleared record_id when a tombstone was deleted
-- made the reaper rewrite two rows elsewhere for each key, on pages that nobody had in memory, and every order lock its
-- own record twice. The id stays where it is now: it names the key's past, and no record ever gets it again.

SET lock_timeout = '5s';

ALTER TABLE orders DROP CONSTRAINT orders_record_id_fkey;
ALTER TABLE refunds DROP CONSTRAINT refunds_record_id_fkey;
ALTER TABLE ledger_entries DROP CONSTRAINT ledger_entries_record_id_fkey;
