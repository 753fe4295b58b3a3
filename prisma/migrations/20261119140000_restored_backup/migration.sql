-- After a restore the provider still has what was done since the backup. What it was sent says of which key it is; it is
-- listed once for each restore, and kept here.

SET lock_timeout = '5s';

ALTER TABLE sandbox.charges
  ADD COLUMN key_digest text,
  ADD COLUMN fingerprint text;

CREATE TABLE restores (
  restored_from timestamptz(3) PRIMARY KEY,
  run_id text NOT NULL,
  ends_at timestamptz(3) NOT NULL,
  read_until timestamptz(3) NOT NULL,
  reading_to timestamptz(3),
  cursor text,
  done_at timestamptz(3)
);

CREATE TABLE lost_effects (
  ref text PRIMARY KEY,
  key_digest text NOT NULL,
  fingerprint text NOT NULL,
  kind ledger_kind NOT NULL,
  status text NOT NULL CONSTRAINT lost_effects_status CHECK (status IN ('succeeded', 'failed', 'pending')),
  order_id text,
  amount_cents bigint NOT NULL,
  currency char(3) NOT NULL,
  created_at timestamptz(3) NOT NULL
);

CREATE INDEX lost_effects_key_digest ON lost_effects (key_digest);

ALTER TABLE runs
  DROP CONSTRAINT runs_kind,
  ADD CONSTRAINT runs_kind CHECK (kind IN ('sweeper', 'reaper', 'reconciler', 'ledger', 'bulk', 'restore', 'traffic'));
