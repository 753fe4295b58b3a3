-- Apart from the migration before, whose locks would be held for as long as this reads: traffic goes on beside it.

SET lock_timeout = '5s';

ALTER TABLE idempotency_records VALIDATE CONSTRAINT records_possible;
