-- What is open, newest first, and what there is about one record. The table is small: nobody waits for this.

SET lock_timeout = '5s';

CREATE INDEX discrepancies_open ON discrepancies (created_at, id) WHERE closed_at IS NULL;
CREATE INDEX discrepancies_record_id_idx ON discrepancies (record_id);
