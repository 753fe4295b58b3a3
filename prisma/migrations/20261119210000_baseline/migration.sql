-- The schema of release 0.1.0. prisma/schema.prisma says the same of tables, columns and indexes; what it can't say is
-- here alone: CHECKs, storage settings, functions and triggers.
--
-- Order: types, tables by subject (each with its CHECKs and its indexes), then functions and triggers.

CREATE SCHEMA IF NOT EXISTS sandbox;

CREATE TYPE record_state AS ENUM ('pending', 'in_progress', 'completed', 'failed_retryable', 'unknown', 'expired');
CREATE TYPE order_status AS ENUM ('pending_payment', 'paid', 'declined', 'abandoned', 'partially_refunded', 'refunded');
CREATE TYPE refund_status AS ENUM ('pending', 'succeeded', 'declined', 'released', 'abandoned');
CREATE TYPE ledger_kind AS ENUM ('charge', 'refund');
CREATE TYPE ledger_status AS ENUM ('succeeded', 'failed');
CREATE TYPE run_state AS ENUM ('running', 'succeeded', 'failed', 'aborted');


-- Tenants -------------------------------------------------------------------------------------------------------------

CREATE TABLE tenants (
  id text PRIMARY KEY,
  name text NOT NULL,
  retention_hours double precision,
  new_keys_per_minute integer NOT NULL DEFAULT 600000,
  live_key_cap integer NOT NULL DEFAULT 10000000,
  disabled_at timestamptz(3),
  created_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),

  CONSTRAINT tenants_limits CHECK (new_keys_per_minute >= 0 AND live_key_cap >= 0),
  CONSTRAINT tenants_retention CHECK (retention_hours > 0)
);

CREATE UNIQUE INDEX tenants_name_key ON tenants (name);

CREATE TABLE api_keys (
  id text PRIMARY KEY,
  tenant_id text NOT NULL REFERENCES tenants (id) ON DELETE RESTRICT ON UPDATE CASCADE,
  name text NOT NULL,
  hash bytea NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  revoked_at timestamptz(3),
  last_used_at timestamptz(3)
);

-- authentication of a request
CREATE UNIQUE INDEX api_keys_hash_key ON api_keys (hash);
-- the keys of a tenant
CREATE INDEX api_keys_tenant_id_idx ON api_keys (tenant_id);

-- Unlogged: a crash loses the counters of the last minute, logging them would cost each flush more than they are worth.
CREATE UNLOGGED TABLE tenant_usage (
  tenant_id text NOT NULL,
  kind text NOT NULL,
  second timestamptz(0) NOT NULL,
  count integer NOT NULL,
  PRIMARY KEY (tenant_id, kind, second)
);

CREATE TABLE tenant_live_keys (
  tenant_id text PRIMARY KEY,
  count bigint NOT NULL
);

CREATE TABLE live_key_recounts (
  name text PRIMARY KEY,
  as_of timestamptz(3) NOT NULL,
  position text NOT NULL,
  last text NOT NULL
);

CREATE TABLE live_key_tallies (
  tenant_id text PRIMARY KEY,
  least bigint NOT NULL,
  most bigint NOT NULL,
  counted bigint NOT NULL
);


-- Records -------------------------------------------------------------------------------------------------------------

-- What makes a row impossible, as one function behind one CHECK. PostgreSQL reads the text of each CHECK anew in every
-- statement that writes a row, and a function once a connection (docs/decisions/0020). A rule that comes to NULL holds,
-- as with any CHECK. The error carries the name of the rule, as if it were a CHECK of that name.
CREATE FUNCTION record_is_possible(
  state record_state, key text, fingerprint text, async boolean, attempt integer, version integer,
  recovery_point text, locked_until timestamptz, locked_by text, settles_at timestamptz, request text,
  response_status smallint, response_headers text, response_body text, response_version smallint,
  resource_type text, resource_id text, reconcile_after timestamptz, reconcile_attempts integer,
  dead_lettered_at timestamptz, replay_count integer, retention_seconds double precision,
  completed_at timestamptz, expired_at timestamptz, timeline jsonb
) RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  broken CONSTANT text := CASE
    -- an answer is stored when it is final, and only a 2xx or 4xx is
    WHEN CASE state
      WHEN 'completed' THEN response_status IS NULL OR response_status NOT BETWEEN 200 AND 499
        OR response_status BETWEEN 300 AND 399 OR response_body IS NULL OR response_headers IS NULL
        OR response_version IS NULL OR completed_at IS NULL
      WHEN 'expired' THEN response_body IS NOT NULL OR response_headers IS NOT NULL OR request IS NOT NULL
        OR expired_at IS NULL
      ELSE response_status IS NOT NULL OR response_body IS NOT NULL OR completed_at IS NOT NULL
    END THEN 'records_answer'
    WHEN attempt < 0 OR version < 1 OR reconcile_attempts < 0 OR replay_count < 0 THEN 'records_counts'
    WHEN (state = 'expired') <> (expired_at IS NOT NULL) THEN 'records_expired'
    -- ^v[0-9]+:[0-9a-f]{64}$, in fewer steps than a regular expression takes
    WHEN left(fingerprint, -64) NOT LIKE 'v_%:' OR translate(left(fingerprint, -64), '0123456789', '') <> 'v:'
      OR rtrim(right(fingerprint, 64), '0123456789abcdef') <> '' THEN 'records_fingerprint'
    WHEN state = 'in_progress' AND (attempt < 1 OR settles_at IS NULL OR settles_at < locked_until
      OR recovery_point IS NULL OR request IS NULL) THEN 'records_in_progress'
    WHEN length(key) NOT BETWEEN 16 AND 255 THEN 'records_key'
    -- exactly the states between claim and outcome hold a lease
    WHEN (state = 'in_progress') <> (locked_until IS NOT NULL) OR (locked_until IS NULL) <> (locked_by IS NULL)
      THEN 'records_lease'
    -- accepted and not claimed yet: only asynchronous requests wait
    WHEN state = 'pending' AND (NOT async OR attempt <> 0 OR request IS NULL) THEN 'records_pending'
    WHEN (resource_type IS NULL) <> (resource_id IS NULL) THEN 'records_resource'
    WHEN retention_seconds <= 0 THEN 'records_retention'
    WHEN state = 'failed_retryable' AND request IS NULL THEN 'records_retryable'
    WHEN jsonb_typeof(timeline) <> 'array' OR jsonb_array_length(timeline) < 1 THEN 'records_timeline'
    -- may have executed: a look-up is scheduled, or the record is a dead letter
    WHEN state = 'unknown' AND (attempt < 1 OR settles_at IS NULL OR request IS NULL
      OR reconcile_after IS NULL AND dead_lettered_at IS NULL) THEN 'records_unknown'
  END;
BEGIN
  IF broken IS NULL THEN RETURN true; END IF;
  RAISE EXCEPTION 'impossible record: it breaks "%"', broken
    USING ERRCODE = 'check_violation', TABLE = 'idempotency_records', CONSTRAINT = broken;
END $$;

CREATE TABLE idempotency_records (
  id text PRIMARY KEY,
  -- No foreign key: its check would lock the tenant's one row in every reservation. Tenants are never deleted.
  tenant_id text NOT NULL,
  endpoint text NOT NULL,
  key text NOT NULL,
  fingerprint text NOT NULL,
  state record_state NOT NULL,
  async boolean NOT NULL,
  attempt integer NOT NULL,
  version integer NOT NULL DEFAULT 1,
  recovery_point text,
  external boolean NOT NULL,
  locked_until timestamptz(3),
  locked_by text,
  settles_at timestamptz(3),
  awaited boolean NOT NULL DEFAULT false,
  effect_evidence boolean NOT NULL DEFAULT false,
  money_differs boolean NOT NULL DEFAULT false,
  in_doubt boolean NOT NULL DEFAULT true,
  doubt_until timestamptz(3),
  look_up_progress text,
  request text,
  request_id text NOT NULL,
  response_status smallint,
  response_headers text,
  response_body text,
  response_version smallint,
  effect_ref text,
  resource_type text,
  resource_id text,
  last_error_code text,
  reconcile_after timestamptz(3),
  reconcile_attempts integer NOT NULL DEFAULT 0,
  dead_lettered_at timestamptz(3),
  asking_until timestamptz(3),
  replay_count integer NOT NULL DEFAULT 0,
  last_replayed_at timestamptz(3),
  retention_seconds double precision NOT NULL,
  created_at timestamptz(3) NOT NULL,
  completed_at timestamptz(3),
  expires_at timestamptz(3) NOT NULL,
  expired_at timestamptz(3),
  timeline jsonb NOT NULL,

  CONSTRAINT records_possible CHECK (record_is_possible(
    state, key, fingerprint, async, attempt, version, recovery_point, locked_until, locked_by, settles_at, request,
    response_status, response_headers, response_body, response_version, resource_type, resource_id, reconcile_after,
    reconcile_attempts, dead_lettered_at, replay_count, retention_seconds, completed_at, expired_at, timeline))
) WITH (
  -- Settling makes a row longer (its answer, two timeline events): room on the page for the new version.
  fillfactor = 60,
  -- Counts and walks are answered from an index alone only where vacuum has been since the page was written. The server's
  -- own rule vacuums when a fifth of the table has changed, which at ten million records is two million orders.
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_insert_scale_factor = 0.02,
  autovacuum_analyze_scale_factor = 0.02
);

-- One record a key. Also search by a key's beginning: prefixes need text_pattern_ops in databases whose collation sorts
-- words, and equality and ON CONFLICT work with it as well.
CREATE UNIQUE INDEX idempotency_records_tenant_id_endpoint_key_key
  ON idempotency_records (tenant_id, endpoint, key text_pattern_ops);

-- The daemons' questions. Each index holds what its question is about and nothing else.

-- sweeper: which lease is over? Also the lists of what is running
CREATE INDEX records_leases ON idempotency_records (locked_until) WHERE state = 'in_progress';
-- sweeper: which accepted request has no job?
CREATE INDEX records_accepted ON idempotency_records (created_at)
  WHERE async AND state IN ('pending', 'failed_retryable');
-- sweeper: which record has evidence of its effect, and no owner that settles with it? As a rule none
CREATE INDEX records_told ON idempotency_records (id) WHERE effect_evidence AND state IN ('failed_retryable', 'unknown');
-- reconciler: which unknown outcome is due? Dead letters wait for people
CREATE INDEX records_to_reconcile ON idempotency_records (reconcile_after)
  WHERE state = 'unknown' AND dead_lettered_at IS NULL;
-- reaper: which key is past its retention?
CREATE INDEX records_to_expire ON idempotency_records (expires_at) WHERE state IN ('completed', 'failed_retryable');
-- reaper: which tombstone is old enough to be deleted?
CREATE INDEX records_tombstones ON idempotency_records (expired_at) WHERE state = 'expired';

-- People's questions. What is pending or in progress is in none of them: a reservation pays nothing for the lists.

-- metrics and overview: how many are retryable, unknown, dead letters, and which has been unknown for longest?
CREATE INDEX records_unsettled ON idempotency_records (state, dead_lettered_at, settles_at)
  WHERE state IN ('failed_retryable', 'unknown');
-- the list of keys: one walk for each state and endpoint, merged, gives any page without a count and without a sort
CREATE INDEX records_by_endpoint ON idempotency_records (state, endpoint, created_at, id)
  WHERE state IN ('completed', 'failed_retryable', 'unknown', 'expired');
-- the same list of one tenant, which would be looked for among all others' rows without it
CREATE INDEX records_by_tenant ON idempotency_records (tenant_id, state, endpoint, created_at, id)
  WHERE state IN ('completed', 'failed_retryable', 'unknown', 'expired');
-- the list by number of replays, with all that it filters by. Replays are counted in memory and added to a record at most
-- every two seconds
CREATE INDEX records_replayed ON idempotency_records (replay_count, created_at, id, tenant_id, endpoint, state)
  WHERE replay_count > 0;
-- overview: which keys are being replayed without end?
CREATE INDEX records_storms ON idempotency_records (last_replayed_at) WHERE replay_count >= 20;
-- search by a request id or its beginning; what is running is found by records_leases
CREATE INDEX records_request_id ON idempotency_records (request_id text_pattern_ops)
  WHERE state IN ('completed', 'failed_retryable', 'unknown', 'expired');
-- the list by error, with all that it filters by
CREATE INDEX records_by_error ON idempotency_records (last_error_code, created_at, id, tenant_id, endpoint, state)
  WHERE last_error_code IS NOT NULL;

CREATE TABLE evidence (
  id text PRIMARY KEY,
  record_id text REFERENCES idempotency_records (id) ON DELETE SET NULL ON UPDATE CASCADE,
  source text NOT NULL,
  source_id text NOT NULL,
  attempt integer NOT NULL,
  verdict text NOT NULL,
  detail jsonb NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),

  CONSTRAINT evidence_source CHECK (source IN ('owner', 'late_owner', 'look_up', 'webhook', 'operator')),
  CONSTRAINT evidence_verdict CHECK (verdict IN ('succeeded', 'declined', 'not_found', 'not_executed'))
);

-- a webhook that is delivered twice counts once
CREATE UNIQUE INDEX evidence_source_source_id_key ON evidence (source, source_id);
-- the evidence of a record: settling, its page
CREATE INDEX evidence_record_id_idx ON evidence (record_id);

CREATE TABLE discrepancies (
  id text PRIMARY KEY,
  kind text NOT NULL,
  subject text NOT NULL,
  record_id text,
  detail jsonb NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  closed_at timestamptz(3),
  closed_by text,
  reason text
);

-- what is found again adds nothing
CREATE UNIQUE INDEX discrepancies_kind_subject_key ON discrepancies (kind, subject);
-- the list, newest first
CREATE INDEX discrepancies_created_at_id_idx ON discrepancies (created_at DESC, id DESC);
-- the list of what is open
CREATE INDEX discrepancies_open ON discrepancies (created_at, id) WHERE closed_at IS NULL;
-- the discrepancies of a record: its page
CREATE INDEX discrepancies_record_id_idx ON discrepancies (record_id);

CREATE TABLE misuse (
  id text PRIMARY KEY,
  at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  tenant_id text NOT NULL,
  endpoint text NOT NULL,
  key text NOT NULL,
  record_id text NOT NULL,
  changed_paths text[],
  request_id text NOT NULL
);

-- the misuse of a record: its page
CREATE INDEX misuse_record_id_at_idx ON misuse (record_id, at);
-- the list, newest first
CREATE INDEX misuse_at_id_idx ON misuse (at DESC, id DESC);
-- the same list of one tenant
CREATE INDEX misuse_tenant_id_at_id_idx ON misuse (tenant_id, at DESC, id DESC);

CREATE TABLE look_up_answers (
  name text PRIMARY KEY,
  answered_at timestamptz(3) NOT NULL
);

CREATE TABLE asks_by_people (
  record_id text PRIMARY KEY,
  asked_at timestamptz(3) NOT NULL
);


-- Orders, refunds, ledger ---------------------------------------------------------------------------------------------
-- They name their record and outlive it: no foreign key (docs/decisions/0005). record_id is unique in each of them, so
-- that a second order, refund or booking for one key is refused.

CREATE TABLE orders (
  id text PRIMARY KEY,
  tenant_id text NOT NULL,
  record_id text,
  customer_id text NOT NULL,
  currency char(3) NOT NULL,
  amount_cents bigint NOT NULL,
  refunded_cents bigint NOT NULL DEFAULT 0,
  held_cents bigint NOT NULL DEFAULT 0,
  items json NOT NULL,
  note text,
  payment_method text NOT NULL,
  status order_status NOT NULL DEFAULT 'pending_payment',
  charge_ref text,
  created_at timestamptz(3) NOT NULL,

  CONSTRAINT orders_amounts CHECK (
    amount_cents > 0 AND refunded_cents >= 0 AND held_cents >= 0 AND refunded_cents + held_cents <= amount_cents),
  CONSTRAINT orders_refund_status CHECK (
    CASE status
      WHEN 'refunded' THEN refunded_cents = amount_cents
      WHEN 'partially_refunded' THEN refunded_cents > 0 AND refunded_cents < amount_cents
      ELSE refunded_cents = 0
    END)
) WITH (
  -- room on the page for the paid order: no index has its status, so the update is HOT
  fillfactor = 90
);

CREATE UNIQUE INDEX orders_record_id_key ON orders (record_id);
-- a tenant's list of its orders, newest first
CREATE INDEX orders_tenant_id_created_at_id_idx ON orders (tenant_id, created_at DESC, id DESC);

CREATE TABLE refunds (
  id text PRIMARY KEY,
  order_id text NOT NULL REFERENCES orders (id) ON DELETE RESTRICT ON UPDATE CASCADE,
  tenant_id text NOT NULL,
  record_id text,
  amount_cents bigint NOT NULL,
  reason text,
  status refund_status NOT NULL DEFAULT 'pending',
  provider_ref text,
  created_at timestamptz(3) NOT NULL,

  CONSTRAINT refunds_amount CHECK (amount_cents > 0)
);

CREATE UNIQUE INDEX refunds_record_id_key ON refunds (record_id);
-- the refunds of an order
CREATE INDEX refunds_order_id_idx ON refunds (order_id);

CREATE TABLE ledger_entries (
  id text PRIMARY KEY,
  kind ledger_kind NOT NULL,
  status ledger_status NOT NULL,
  tenant_id text NOT NULL,
  order_id text NOT NULL REFERENCES orders (id) ON DELETE RESTRICT ON UPDATE CASCADE,
  record_id text,
  amount_cents bigint NOT NULL,
  currency char(3) NOT NULL,
  provider_ref text NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  reversal_of text REFERENCES ledger_entries (id) ON DELETE RESTRICT ON UPDATE CASCADE,
  reversed_at timestamptz(3),

  CONSTRAINT ledger_entries_amount CHECK (amount_cents > 0),
  -- a reversing entry never counts
  CONSTRAINT ledger_entries_reversal CHECK (reversal_of IS NULL OR reversed_at IS NOT NULL)
);

-- One booking that counts for each record, and one for each reference of the provider: a reversed one makes both free.
-- The second also serves search by a reference's beginning.
CREATE UNIQUE INDEX ledger_entries_record_id_key ON ledger_entries (record_id) WHERE reversed_at IS NULL;
CREATE UNIQUE INDEX ledger_entries_provider_ref_key ON ledger_entries (provider_ref text_pattern_ops)
  WHERE reversed_at IS NULL;
-- an entry is reversed once; partial, so that an ordinary booking does not pay for it
CREATE UNIQUE INDEX ledger_entries_reversal_of_key ON ledger_entries (reversal_of) WHERE reversal_of IS NOT NULL;
-- the bookings of an order
CREATE INDEX ledger_entries_order_id_idx ON ledger_entries (order_id);
-- ledger comparison: what was booked in this window?
CREATE INDEX ledger_entries_created_at ON ledger_entries (created_at);

CREATE TABLE ledger_revisits (
  ref text PRIMARY KEY,
  kind ledger_kind NOT NULL,
  status text NOT NULL,
  provider_key text NOT NULL,
  order_id text,
  amount_cents bigint NOT NULL,
  currency char(3) NOT NULL,
  created_at timestamptz(3) NOT NULL,

  CONSTRAINT ledger_revisits_status CHECK (status IN ('succeeded', 'pending'))
);

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
  status text NOT NULL,
  order_id text,
  amount_cents bigint NOT NULL,
  currency char(3) NOT NULL,
  created_at timestamptz(3) NOT NULL,

  CONSTRAINT lost_effects_status CHECK (status IN ('succeeded', 'failed', 'pending'))
);

-- a reservation after a restore: what did the provider do for this key?
CREATE INDEX lost_effects_key_digest ON lost_effects (key_digest);


-- Runs and counters ---------------------------------------------------------------------------------------------------

CREATE TABLE runs (
  id text PRIMARY KEY,
  kind text NOT NULL,
  action text,
  dry_run boolean NOT NULL,
  scheduled boolean NOT NULL,
  requested_by text NOT NULL,
  reason text,
  state run_state NOT NULL,
  done integer NOT NULL DEFAULT 0,
  total integer,
  counts jsonb NOT NULL,
  sample text[],
  groups jsonb,
  error text,
  abort_requested boolean NOT NULL DEFAULT false,
  worked_by text,
  started_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  heartbeat_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  finished_at timestamptz(3),

  CONSTRAINT runs_kind CHECK (kind IN ('sweeper', 'reaper', 'reconciler', 'ledger', 'bulk', 'restore', 'traffic')),
  CONSTRAINT runs_finished CHECK ((state = 'running') = (finished_at IS NULL)),
  CONSTRAINT runs_sample CHECK (cardinality(sample) <= 100),
  -- two people who start sample traffic at once: one of them is refused
  CONSTRAINT runs_one_traffic EXCLUDE USING btree (kind WITH =) WHERE (kind = 'traffic' AND state = 'running')
);

-- the last runs of a daemon
CREATE INDEX runs_kind_started_at_idx ON runs (kind, started_at DESC);
-- the list, newest first
CREATE INDEX runs_started_at_id_idx ON runs (started_at DESC, id DESC);

CREATE TABLE run_items (
  run_id text NOT NULL REFERENCES runs (id) ON DELETE CASCADE ON UPDATE CASCADE,
  position integer NOT NULL,
  record_id text NOT NULL,
  outcome jsonb,
  done_at timestamptz(3),
  PRIMARY KEY (run_id, position),

  CONSTRAINT run_items_done CHECK ((outcome IS NULL) = (done_at IS NULL))
);

-- the next keys of a bulk run
CREATE INDEX run_items_open ON run_items (run_id, position) WHERE outcome IS NULL;

CREATE TABLE schedules (
  kind text PRIMARY KEY,
  next_run_at timestamptz(3) NOT NULL,
  last_run_at timestamptz(3),
  covered_until timestamptz(3)
);

CREATE TABLE metric_minutes (
  at timestamptz(0) NOT NULL,
  metric text NOT NULL,
  endpoint text NOT NULL,
  tenant_id text NOT NULL,
  bucket text NOT NULL,
  value double precision NOT NULL,
  PRIMARY KEY (metric, at, tenant_id, endpoint, bucket)
);

-- rolling up, and deleting what is old
CREATE INDEX metric_minutes_at_idx ON metric_minutes (at);

CREATE TABLE metric_hours (
  at timestamptz(0) NOT NULL,
  metric text NOT NULL,
  endpoint text NOT NULL,
  tenant_id text NOT NULL,
  bucket text NOT NULL,
  value double precision NOT NULL,
  PRIMARY KEY (metric, at, tenant_id, endpoint, bucket)
);

-- deleting what is old
CREATE INDEX metric_hours_at_idx ON metric_hours (at);

CREATE TABLE state_samples (
  at timestamptz(0) NOT NULL,
  state record_state NOT NULL,
  count bigint NOT NULL,
  oldest_seconds double precision,
  PRIMARY KEY (at, state)
);


-- Operators and the audit log -----------------------------------------------------------------------------------------

CREATE TABLE operators (
  id text PRIMARY KEY,
  name text NOT NULL,
  email text NOT NULL,
  email_verified boolean NOT NULL DEFAULT false,
  image text,
  role text NOT NULL DEFAULT 'viewer',
  disabled_at timestamptz(3),
  created_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  updated_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),

  CONSTRAINT operators_role CHECK (role IN ('viewer', 'operator', 'admin')),
  CONSTRAINT operators_email CHECK (email = lower(email))
);

CREATE UNIQUE INDEX operators_email_key ON operators (email);

CREATE TABLE operator_accounts (
  id text PRIMARY KEY,
  operator_id text NOT NULL REFERENCES operators (id) ON DELETE CASCADE ON UPDATE CASCADE,
  account_id text NOT NULL,
  provider_id text NOT NULL,
  password text,
  created_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  updated_at timestamptz(3) NOT NULL DEFAULT clock_timestamp()
);

-- sign-in
CREATE UNIQUE INDEX operator_accounts_provider_id_account_id_key ON operator_accounts (provider_id, account_id);
-- the accounts of a person
CREATE INDEX operator_accounts_operator_id_idx ON operator_accounts (operator_id);

CREATE TABLE operator_sessions (
  id text PRIMARY KEY,
  operator_id text NOT NULL REFERENCES operators (id) ON DELETE CASCADE ON UPDATE CASCADE,
  token text NOT NULL,
  expires_at timestamptz(3) NOT NULL,
  ip_address text,
  user_agent text,
  created_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  updated_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),

  -- only a hash is stored: a reader of the database, or of a backup, can't use a session
  CONSTRAINT operator_sessions_token_hashed CHECK (token ~ '^[0-9a-f]{64}$')
);

-- each request of a person
CREATE UNIQUE INDEX operator_sessions_token_key ON operator_sessions (token);
-- ending the sessions of a person
CREATE INDEX operator_sessions_operator_id_idx ON operator_sessions (operator_id);
-- deleting what is over
CREATE INDEX operator_sessions_expires_at_idx ON operator_sessions (expires_at);

CREATE TABLE sign_in_failures (
  bucket bytea PRIMARY KEY,
  count integer NOT NULL,
  since timestamptz(3) NOT NULL
);

-- deleting what is over
CREATE INDEX sign_in_failures_since_idx ON sign_in_failures (since);

CREATE TABLE operator_tokens (
  id text PRIMARY KEY,
  name text NOT NULL,
  role text NOT NULL,
  hash bytea NOT NULL,
  created_by text NOT NULL,
  owner_id text,
  created_at timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  expires_at timestamptz(3),
  revoked_at timestamptz(3),
  last_used_at timestamptz(3),

  CONSTRAINT operator_tokens_role CHECK (role IN ('viewer', 'operator', 'admin'))
);

-- each request of a script
CREATE UNIQUE INDEX operator_tokens_hash_key ON operator_tokens (hash);
-- the list, newest first
CREATE INDEX operator_tokens_created_at_id_idx ON operator_tokens (created_at DESC, id DESC);
-- ending the tokens of a person
CREATE INDEX operator_tokens_owner_id_idx ON operator_tokens (owner_id);

CREATE TABLE operator_requests (
  actor_id text NOT NULL,
  call text NOT NULL,
  key text NOT NULL,
  fingerprint text NOT NULL,
  resource_id text NOT NULL,
  reserved_at timestamptz(3) NOT NULL,
  finished_at timestamptz(3),
  status smallint,
  body text,
  PRIMARY KEY (actor_id, call, key),

  CONSTRAINT operator_requests_finished CHECK ((finished_at IS NULL) = (status IS NULL)),
  CONSTRAINT operator_requests_status CHECK (status BETWEEN 200 AND 499)
);

-- deleting what is old
CREATE INDEX operator_requests_reserved_at_idx ON operator_requests (reserved_at);

CREATE TABLE audit_entries (
  seq bigint PRIMARY KEY,
  at timestamptz(3) NOT NULL,
  actor_id text NOT NULL,
  actor_name text NOT NULL,
  action text NOT NULL,
  target text,
  outcome text NOT NULL,
  reason text,
  before jsonb,
  after jsonb,
  request_id text NOT NULL,
  previous_hash bytea NOT NULL,
  hash bytea NOT NULL,

  CONSTRAINT audit_entries_outcome CHECK (outcome IN ('done', 'forbidden'))
);

-- the log by actor, by action, by target
CREATE INDEX audit_entries_actor_id_seq_idx ON audit_entries (actor_id, seq DESC);
CREATE INDEX audit_entries_action_seq_idx ON audit_entries (action, seq DESC);
CREATE INDEX audit_entries_target_seq_idx ON audit_entries (target, seq DESC);

CREATE TABLE audit_head (
  one boolean PRIMARY KEY DEFAULT true,
  seq bigint NOT NULL,
  hash bytea NOT NULL,

  CONSTRAINT audit_head_one CHECK (one)
);

INSERT INTO audit_head (seq, hash) VALUES (0, decode(repeat('00', 32), 'hex'));

CREATE TABLE audit_refusals (
  actor_id text NOT NULL,
  action text NOT NULL,
  minute text NOT NULL,
  count integer NOT NULL,
  PRIMARY KEY (actor_id, action, minute)
);

CREATE TABLE secrets (
  name text PRIMARY KEY,
  value text NOT NULL
);


-- The sandbox provider ------------------------------------------------------------------------------------------------

CREATE TABLE sandbox.charges (
  ref text PRIMARY KEY,
  provider_key text NOT NULL,
  kind text NOT NULL,
  status text NOT NULL,
  order_id text NOT NULL,
  customer_id text NOT NULL,
  amount_cents bigint NOT NULL,
  currency char(3) NOT NULL,
  key_digest text,
  fingerprint text,
  booked_at timestamptz(3) NOT NULL,

  CONSTRAINT charges_kind CHECK (kind IN ('charge', 'refund')),
  CONSTRAINT charges_status CHECK (status IN ('succeeded', 'failed'))
);

-- a look-up by key
CREATE INDEX charges_provider_key_idx ON sandbox.charges (provider_key);
-- a look-up by customer and time
CREATE INDEX charges_customer_id_booked_at_idx ON sandbox.charges (customer_id, booked_at);
-- ledger comparison: what did the provider book in this window?
CREATE INDEX charges_booked_at ON sandbox.charges (booked_at);

CREATE TABLE sandbox.events (
  id text PRIMARY KEY,
  charge_ref text NOT NULL,
  due_at timestamptz(3) NOT NULL,
  attempts integer NOT NULL DEFAULT 0,
  delivered_at timestamptz(3)
);

-- the next webhooks to deliver
CREATE INDEX events_due ON sandbox.events (due_at) WHERE delivered_at IS NULL;

CREATE TABLE sandbox.secrets (
  name text PRIMARY KEY,
  value text NOT NULL
);

CREATE TABLE sandbox.attempts (
  provider_key text PRIMARY KEY,
  count integer NOT NULL
);


-- Functions and triggers: records -------------------------------------------------------------------------------------

-- Whatever statement writes a record, by a node or by psql: it begins without an outcome, and only a tombstone is deleted.
CREATE FUNCTION refuse_record_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    RAISE EXCEPTION 'a record begins pending or in_progress, not %', NEW.state USING ERRCODE = 'check_violation';
  END IF;
  RAISE EXCEPTION 'only an expired record may be deleted, % is %', OLD.id, OLD.state USING ERRCODE = 'check_violation';
END $$;

CREATE TRIGGER records_begin BEFORE INSERT ON idempotency_records FOR EACH ROW
  WHEN (NEW.state NOT IN ('pending', 'in_progress'))
  EXECUTE FUNCTION refuse_record_change();

CREATE TRIGGER records_delete BEFORE DELETE ON idempotency_records FOR EACH ROW
  WHEN (OLD.state <> 'expired')
  EXECUTE FUNCTION refuse_record_change();

-- What a key was reserved for never changes.
CREATE FUNCTION refuse_record_rewrite() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'record %: its identity is fixed', OLD.id USING ERRCODE = 'check_violation';
END $$;

CREATE TRIGGER records_identity BEFORE UPDATE OF id, tenant_id, endpoint, key, fingerprint, async, created_at
  ON idempotency_records FOR EACH ROW
  WHEN ((OLD.id, OLD.tenant_id, OLD.endpoint, OLD.key, OLD.fingerprint, OLD.async, OLD.created_at)
    IS DISTINCT FROM (NEW.id, NEW.tenant_id, NEW.endpoint, NEW.key, NEW.fingerprint, NEW.async, NEW.created_at))
  EXECUTE FUNCTION refuse_record_rewrite();

-- A move is legal when the table of states has it, it raises the version, it leaves an event in the timeline (which may
-- become shorter once it is long, see summed_up_timeline), and it raises the attempt by one exactly when it is a claim.
-- Without a move the attempt stays.
CREATE FUNCTION move_record() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (CASE WHEN OLD.state = NEW.state THEN
      NEW.attempt <> OLD.attempt OR NEW.version < OLD.version
    ELSE
      NEW.attempt <> OLD.attempt + (NEW.state = 'in_progress')::integer
      OR NEW.version <= OLD.version
      OR jsonb_array_length(NEW.timeline) <= jsonb_array_length(OLD.timeline)
        AND (jsonb_array_length(OLD.timeline) < 100 OR NEW.timeline -> -1 = OLD.timeline -> -1)
      OR NOT CASE OLD.state
        WHEN 'pending' THEN NEW.state IN ('in_progress', 'completed')
        WHEN 'in_progress' THEN NEW.state IN ('completed', 'failed_retryable', 'unknown')
        WHEN 'completed' THEN NEW.state = 'expired'
        WHEN 'failed_retryable' THEN NEW.state IN ('in_progress', 'completed', 'unknown', 'expired')
        WHEN 'unknown' THEN NEW.state IN ('completed', 'failed_retryable')
        ELSE false
      END
    END) THEN
    RAISE EXCEPTION 'record %: from % (attempt %, version %) to % (attempt %, version %) is not a legal move with its event',
      OLD.id, OLD.state, OLD.attempt, OLD.version, NEW.state, NEW.attempt, NEW.version USING ERRCODE = 'check_violation';
  END IF;

  IF NEW.money_differs AND (NEW.effect_evidence OR NEW.state NOT IN ('in_progress', 'unknown')) THEN
    RAISE EXCEPTION 'record %: with evidence of other money it can''t be %', OLD.id, NEW.state
      USING ERRCODE = 'check_violation', TABLE = 'idempotency_records', CONSTRAINT = 'records_money_differs';
  END IF;

  -- While an owner works on the record, a webhook may bring evidence of one charge, and the owner may settle with another.
  -- Evidence that commits while the settling statement waits for the row is not in that statement's snapshot. This trigger
  -- runs with the row locked, and its statement has a newer snapshot.
  IF NEW.effect_evidence AND OLD.state <> NEW.state AND NEW.state IN ('completed', 'expired') THEN
    INSERT INTO public.discrepancies (id, kind, subject, record_id, detail)
    SELECT 'dis_' || replace(gen_random_uuid()::text, '-', ''), 'contradicting_evidence', NEW.id || ':' || (e.detail->>'ref'),
      NEW.id, jsonb_build_object('verdict', e.verdict, 'ref', e.detail->>'ref', 'source', e.source, 'state', NEW.state,
        'responseStatus', NEW.response_status, 'effectRef', NEW.effect_ref)
    FROM public.evidence e
    WHERE e.record_id = NEW.id AND e.verdict = 'succeeded' AND e.detail->>'ref' IS DISTINCT FROM NEW.effect_ref
    ON CONFLICT (kind, subject) DO NOTHING;
  END IF;

  -- A node may keep a finished answer in memory until it expires. One that ends earlier is announced to all nodes.
  IF OLD.state = 'completed' AND (NEW.state <> 'completed' OR NEW.expires_at < OLD.expires_at)
    AND OLD.expires_at > clock_timestamp() THEN
    PERFORM pg_notify('onceover_forget', OLD.id);
  END IF;
  RETURN NEW;
END $$;

CREATE TRIGGER records_move BEFORE UPDATE ON idempotency_records FOR EACH ROW EXECUTE FUNCTION move_record();

-- The same for all answers at once: an empty notification.
CREATE FUNCTION tell_to_forget_all() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('onceover_forget', '');
  RETURN NULL;
END $$;

CREATE TRIGGER records_truncated AFTER TRUNCATE ON idempotency_records FOR EACH STATEMENT
  EXECUTE FUNCTION tell_to_forget_all();

-- A timeline keeps the first 50 and the last attempts and look-ups; those in between are summed up in one event, so that a
-- key that is retried for ever has a row of bounded size. An attempt or a look-up begins with one of five events. Evidence
-- is kept, and so is the last event that says since when the outcome is unknown: both are read from here. `last` is how
-- many the end keeps, the next one apart.
CREATE FUNCTION summed_up_timeline(timeline jsonb, last integer) RETURNS jsonb LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  WITH event AS (
    SELECT place, e, e->>'event' AS name,
      count(*) FILTER (WHERE e->>'event' IN ('reserved', 'claimed', 'looked_up', 'run_again', 'resumed'))
        OVER (ORDER BY place) AS entry
    FROM jsonb_array_elements(timeline) WITH ORDINALITY AS all_events (e, place)
  ), bounds AS (
    SELECT max(entry) AS entries, max(place) FILTER (WHERE name IN ('outcome_unknown', 'lease_over')) AS unknown_since
    FROM event
  ), judged AS (
    SELECT event.*, name = 'summed_up' OR entry > 50 AND entry <= entries - last AND place IS DISTINCT FROM unknown_since
      AND name IN ('claimed', 'phase', 'released', 'outcome_unknown', 'lease_over', 'looked_up', 'dead_lettered',
        'run_again', 'resumed') AS old
    FROM event, bounds
  ), summary AS (
    SELECT min(place) AS place, jsonb_build_object(
      'at', (array_agg(e->'at' ORDER BY place))[1], 'event', 'summed_up', 'by', 'timeline',
      'until', (array_agg(coalesce(e->'until', e->'at') ORDER BY place DESC))[1],
      'attempts', count(*) FILTER (WHERE name = 'claimed') + coalesce(sum((e->>'attempts')::integer), 0),
      'lookUps', count(*) FILTER (WHERE name = 'looked_up') + coalesce(sum((e->>'lookUps')::integer), 0)) AS e
    FROM judged WHERE old HAVING bool_or(name <> 'summed_up')
  )
  SELECT CASE WHEN EXISTS (SELECT FROM summary) THEN (
    SELECT jsonb_agg(kept.e ORDER BY kept.place)
    FROM (SELECT place, e FROM judged WHERE NOT old UNION ALL SELECT place, e FROM summary) kept
  ) ELSE timeline END
$$;


-- Functions and triggers: tenants and ledger --------------------------------------------------------------------------

-- In place of foreign keys to tenants: see idempotency_records.tenant_id.
CREATE FUNCTION refuse_tenant_delete() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'tenants are disabled, not deleted' USING ERRCODE = 'check_violation';
END $$;

CREATE TRIGGER tenants_delete BEFORE DELETE ON tenants FOR EACH ROW EXECUTE FUNCTION refuse_tenant_delete();

-- The ledger is written once, but for the moment from which an entry no longer counts.
CREATE FUNCTION refuse_ledger_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'UPDATE' AND OLD.reversed_at IS NULL AND NEW.reversed_at IS NOT NULL
    AND (to_jsonb(NEW) - 'reversed_at') = (to_jsonb(OLD) - 'reversed_at') THEN
    RETURN NEW;
  END IF;
  RAISE EXCEPTION 'the ledger is append-only' USING ERRCODE = 'check_violation';
END $$;

CREATE TRIGGER ledger_entries_update BEFORE UPDATE ON ledger_entries FOR EACH ROW
  EXECUTE FUNCTION refuse_ledger_change();
CREATE TRIGGER ledger_entries_delete BEFORE DELETE ON ledger_entries FOR EACH ROW
  EXECUTE FUNCTION refuse_ledger_change();


-- Functions and triggers: operators -----------------------------------------------------------------------------------
-- They hold whoever writes, psql included. A function's own statements see what was committed while the row's lock was
-- waited for; the statement that fires the trigger would not. A subscriber of a logical replication has no search_path:
-- functions set one or name their tables in full.

-- Two admins who demote each other at the same moment change different rows. The lock makes the second one look when the
-- first has committed. The number only has to be one that nothing else in the database uses.
CREATE FUNCTION keep_an_admin() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(7306502);
  IF NOT EXISTS (SELECT FROM operators WHERE id <> OLD.id AND role = 'admin' AND disabled_at IS NULL) THEN
    RAISE EXCEPTION 'the last enabled admin stays' USING ERRCODE = 'check_violation', CONSTRAINT = 'operators_last_admin';
  END IF;
  RETURN coalesce(NEW, OLD);
END $$;

CREATE TRIGGER operators_last_admin_changed BEFORE UPDATE OF role, disabled_at ON operators FOR EACH ROW
  WHEN (OLD.role = 'admin' AND OLD.disabled_at IS NULL AND (NEW.role <> 'admin' OR NEW.disabled_at IS NOT NULL))
  EXECUTE FUNCTION keep_an_admin();
CREATE TRIGGER operators_last_admin_deleted BEFORE DELETE ON operators FOR EACH ROW
  WHEN (OLD.role = 'admin' AND OLD.disabled_at IS NULL)
  EXECUTE FUNCTION keep_an_admin();

-- A session ends with the right to it, also one that was made while the change waited for its row. The argument names the
-- column with the operator's id.
CREATE FUNCTION end_operator_sessions() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
  DELETE FROM operator_sessions WHERE operator_id = to_jsonb(NEW) ->> TG_ARGV[0];
  RETURN NEW;
END $$;

CREATE TRIGGER operators_disabled BEFORE UPDATE OF disabled_at ON operators FOR EACH ROW
  WHEN (OLD.disabled_at IS NULL AND NEW.disabled_at IS NOT NULL)
  EXECUTE FUNCTION end_operator_sessions('id');
CREATE TRIGGER operator_accounts_password BEFORE UPDATE OF password ON operator_accounts FOR EACH ROW
  WHEN (OLD.password IS DISTINCT FROM NEW.password)
  EXECUTE FUNCTION end_operator_sessions('operator_id');

-- A token ends with the person who owns it.
CREATE FUNCTION end_operator_tokens() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE public.operator_tokens SET revoked_at = clock_timestamp() WHERE owner_id = OLD.id AND revoked_at IS NULL;
  RETURN coalesce(NEW, OLD);
END $$;

CREATE TRIGGER operators_disabled_tokens BEFORE UPDATE OF disabled_at ON operators FOR EACH ROW
  WHEN (OLD.disabled_at IS NULL AND NEW.disabled_at IS NOT NULL)
  EXECUTE FUNCTION end_operator_tokens();
CREATE TRIGGER operators_deleted_tokens BEFORE DELETE ON operators FOR EACH ROW EXECUTE FUNCTION end_operator_tokens();


-- Functions and triggers: the audit log -------------------------------------------------------------------------------
-- Append-only and chained by hashes, whoever writes. The triggers are ALWAYS enabled, also where a session calls itself a
-- replica, as the subscriber of a logical replication is.

-- What an entry's hash is made of besides the hash before it: the entry as a JSON array, which no choice of words can make
-- ambiguous. lib/audit/verify.ts computes the same outside of the database.
CREATE FUNCTION audit_content(e audit_entries) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT jsonb_build_array(e.seq, to_char(e.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), e.actor_id, e.actor_name,
    e.action, e.target, e.outcome, e.reason, e.before, e.after, e.request_id)::text
$$;

-- In a database that is written to, the chain is made here. The head's row lock puts entries in an order and is held until
-- the audited change commits, so no entry is chained to one that is rolled back. In a database that is replicated to, the
-- row is kept as it is, and has to be what its hash was made of.
CREATE FUNCTION chain_audit_entry() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('session_replication_role') = 'replica' THEN
    IF NEW.hash IS DISTINCT FROM sha256(NEW.previous_hash || convert_to(public.audit_content(NEW), 'UTF8')) THEN
      RAISE EXCEPTION 'the audit log is append-only: entry % is not what its hash was made of', NEW.seq
        USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
  END IF;
  SELECT h.seq + 1, h.hash INTO NEW.seq, NEW.previous_hash FROM public.audit_head h FOR UPDATE;
  IF NEW.seq IS NULL THEN
    RAISE EXCEPTION 'the audit log has no head' USING ERRCODE = 'check_violation';
  END IF;
  NEW.at := date_trunc('milliseconds', clock_timestamp());
  NEW.hash := sha256(NEW.previous_hash || convert_to(public.audit_content(NEW), 'UTF8'));
  UPDATE public.audit_head SET seq = NEW.seq, hash = NEW.hash;
  RETURN NEW;
END $$;

CREATE TRIGGER audit_chain BEFORE INSERT ON audit_entries FOR EACH ROW EXECUTE FUNCTION chain_audit_entry();
ALTER TABLE audit_entries ENABLE ALWAYS TRIGGER audit_chain;

-- At the commit of what was replicated, since the first copy of a table need not keep its order: each entry follows the one
-- before it, and the last one is the head.
CREATE FUNCTION link_audit_entry() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.previous_hash IS DISTINCT FROM (CASE WHEN NEW.seq = 1 THEN decode(repeat('00', 32), 'hex')
    ELSE (SELECT e.hash FROM public.audit_entries e WHERE e.seq = NEW.seq - 1) END) THEN
    RAISE EXCEPTION 'the audit log is append-only: entry % does not follow the one before it', NEW.seq
      USING ERRCODE = 'check_violation';
  END IF;
  IF NOT EXISTS (SELECT FROM public.audit_entries e WHERE e.seq = NEW.seq + 1) THEN
    UPDATE public.audit_head SET seq = NEW.seq, hash = NEW.hash;
    IF NOT FOUND THEN
      INSERT INTO public.audit_head (seq, hash) VALUES (NEW.seq, NEW.hash);
    END IF;
  END IF;
  RETURN NULL;
END $$;

CREATE CONSTRAINT TRIGGER audit_links AFTER INSERT ON audit_entries DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN (current_setting('session_replication_role') = 'replica') EXECUTE FUNCTION link_audit_entry();
ALTER TABLE audit_entries ENABLE ALWAYS TRIGGER audit_links;

CREATE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the audit log is append-only: % of % is refused', TG_OP, TG_TABLE_NAME USING ERRCODE = 'check_violation';
END $$;

CREATE TRIGGER audit_append_only BEFORE UPDATE OR DELETE ON audit_entries FOR EACH ROW
  EXECUTE FUNCTION refuse_audit_change();
CREATE TRIGGER audit_no_truncate BEFORE TRUNCATE ON audit_entries FOR EACH STATEMENT
  EXECUTE FUNCTION refuse_audit_change();
ALTER TABLE audit_entries ENABLE ALWAYS TRIGGER audit_append_only;
ALTER TABLE audit_entries ENABLE ALWAYS TRIGGER audit_no_truncate;

-- The head moves only from within chain_audit_entry and link_audit_entry. A replicated change of it is left out, since it
-- follows the replicated entries; but a log without an entry has the head that it began with.
CREATE FUNCTION move_audit_head() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('session_replication_role') <> 'replica' THEN
    RAISE EXCEPTION 'the audit log is append-only: % of % is refused', TG_OP, TG_TABLE_NAME USING ERRCODE = 'check_violation';
  END IF;
  IF TG_OP = 'INSERT' AND NEW.seq = 0 AND NEW.hash = decode(repeat('00', 32), 'hex')
    AND NOT EXISTS (SELECT FROM public.audit_head) AND NOT EXISTS (SELECT FROM public.audit_entries) THEN
    RETURN NEW;
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER audit_head_moves BEFORE INSERT OR UPDATE ON audit_head FOR EACH ROW WHEN (pg_trigger_depth() = 0)
  EXECUTE FUNCTION move_audit_head();
CREATE TRIGGER audit_head_stays BEFORE DELETE ON audit_head FOR EACH ROW EXECUTE FUNCTION refuse_audit_change();
CREATE TRIGGER audit_head_no_truncate BEFORE TRUNCATE ON audit_head FOR EACH STATEMENT
  EXECUTE FUNCTION refuse_audit_change();
ALTER TABLE audit_head ENABLE ALWAYS TRIGGER audit_head_moves;
ALTER TABLE audit_head ENABLE ALWAYS TRIGGER audit_head_stays;
ALTER TABLE audit_head ENABLE ALWAYS TRIGGER audit_head_no_truncate;

-- A count of refusals only rises.
CREATE TRIGGER audit_refusals_rise BEFORE UPDATE ON audit_refusals FOR EACH ROW
  WHEN ((NEW.actor_id, NEW.action, NEW.minute) IS DISTINCT FROM (OLD.actor_id, OLD.action, OLD.minute)
    OR NEW.count <= OLD.count)
  EXECUTE FUNCTION refuse_audit_change();
CREATE TRIGGER audit_refusals_stay BEFORE DELETE ON audit_refusals FOR EACH ROW EXECUTE FUNCTION refuse_audit_change();
CREATE TRIGGER audit_refusals_no_truncate BEFORE TRUNCATE ON audit_refusals FOR EACH STATEMENT
  EXECUTE FUNCTION refuse_audit_change();
ALTER TABLE audit_refusals ENABLE ALWAYS TRIGGER audit_refusals_rise;
ALTER TABLE audit_refusals ENABLE ALWAYS TRIGGER audit_refusals_stay;
ALTER TABLE audit_refusals ENABLE ALWAYS TRIGGER audit_refusals_no_truncate;
