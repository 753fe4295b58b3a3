-- Orders, refunds and ledger rows outlive their record. The foreign keys that cleared record_id when a tombstone was deleted
-- made the reaper rewrite two rows elsewhere for each key, on pages that nobody had in memory, and every order lock its
-- own record twice. The id stays where it is now: it names the key's past, and no record ever gets it again.

SET lock_timeout = '5s';

-- In the order in which every request takes them: dropping a key locks its own table first and the other one after it,
-- which would meet the requests half-way.
LOCK TABLE idempotency_records, orders, refunds, ledger_entries IN ACCESS EXCLUSIVE MODE;

ALTER TABLE orders DROP CONSTRAINT orders_record_id_fkey;
ALTER TABLE refunds DROP CONSTRAINT refunds_record_id_fkey;
ALTER TABLE ledger_entries DROP CONSTRAINT ledger_entries_record_id_fkey;

-- Nobody has a reason to change a row of the ledger any more.
CREATE OR REPLACE TRIGGER ledger_entries_update BEFORE UPDATE ON ledger_entries FOR EACH ROW
  EXECUTE FUNCTION refuse_ledger_change();
