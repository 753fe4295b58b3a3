-- A client is told to come back at once while a look-up is under way, and people ask about one key at most once a second.

SET lock_timeout = '5s';

ALTER TABLE idempotency_records ADD COLUMN asking_until timestamptz(3);

CREATE TABLE asks_by_people (
  record_id text PRIMARY KEY,
  asked_at timestamptz(3) NOT NULL
);
