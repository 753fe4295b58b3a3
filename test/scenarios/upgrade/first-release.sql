-- The foundation: records, orders, ledger, evidence, tenants, the first operators, and the sandbox provider.
-- The first part is Prisma's; what follows "By hand" is what the database itself refuses or promises.

-- A deploy that can't get its locks fails fast instead of queueing live traffic behind it.
SET lock_timeout = '5s';

-- CreateSchema
CREATE SCHEMA IF NOT EXISTS "sandbox";

-- CreateEnum
CREATE TYPE "record_state" AS ENUM ('pending', 'in_progress', 'completed', 'failed_retryable', 'unknown', 'expired');

-- CreateEnum
CREATE TYPE "order_status" AS ENUM ('pending_payment', 'paid', 'declined', 'abandoned', 'partially_refunded', 'refunded');

-- CreateEnum
CREATE TYPE "refund_status" AS ENUM ('pending', 'succeeded', 'declined', 'released', 'abandoned');

-- CreateEnum
CREATE TYPE "ledger_kind" AS ENUM ('charge', 'refund');

-- CreateEnum
CREATE TYPE "ledger_status" AS ENUM ('succeeded', 'failed');

-- CreateTable
CREATE TABLE "tenants" (
    "id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "retention_hours" DOUBLE PRECISION,
    "new_keys_per_minute" INTEGER NOT NULL DEFAULT 600000,
    "live_key_cap" INTEGER NOT NULL DEFAULT 10000000,
    "disabled_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT clock_timestamp(),

    CONSTRAINT "tenants_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "api_keys" (
    "id" TEXT NOT NULL,
    "tenant_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "hash" BYTEA NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT clock_timestamp(),
    "revoked_at" TIMESTAMPTZ(3),
    "last_used_at" TIMESTAMPTZ(3),

    CONSTRAINT "api_keys_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "tenant_usage" (
    "tenant_id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "second" TIMESTAMPTZ(0) NOT NULL,
    "count" INTEGER NOT NULL,

    CONSTRAINT "tenant_usage_pkey" PRIMARY KEY ("tenant_id","kind","second")
);

-- CreateTable
CREATE TABLE "tenant_live_keys" (
    "tenant_id" TEXT NOT NULL,
    "count" BIGINT NOT NULL,

    CONSTRAINT "tenant_live_keys_pkey" PRIMARY KEY ("tenant_id")
);

-- CreateTable
CREATE TABLE "idempotency_records" (
    "id" TEXT NOT NULL,
    "tenant_id" TEXT NOT NULL,
    "endpoint" TEXT NOT NULL,
    "key" TEXT NOT NULL,
    "fingerprint" TEXT NOT NULL,
    "state" "record_state" NOT NULL,
    "async" BOOLEAN NOT NULL,
    "attempt" INTEGER NOT NULL,
    "version" INTEGER NOT NULL DEFAULT 1,
    "recovery_point" TEXT,
    "external" BOOLEAN NOT NULL,
    "locked_until" TIMESTAMPTZ(3),
    "locked_by" TEXT,
    "settles_at" TIMESTAMPTZ(3),
    "awaited" BOOLEAN NOT NULL DEFAULT false,
    "effect_evidence" BOOLEAN NOT NULL DEFAULT false,
    "request" TEXT,
    "request_id" TEXT NOT NULL,
    "response_status" SMALLINT,
    "response_headers" TEXT,
    "response_body" TEXT,
    "response_version" SMALLINT,
    "effect_ref" TEXT,
    "resource_type" TEXT,
    "resource_id" TEXT,
    "last_error_code" TEXT,
    "reconcile_after" TIMESTAMPTZ(3),
    "reconcile_attempts" INTEGER NOT NULL DEFAULT 0,
    "dead_lettered_at" TIMESTAMPTZ(3),
    "replay_count" INTEGER NOT NULL DEFAULT 0,
    "last_replayed_at" TIMESTAMPTZ(3),
    "retention_seconds" DOUBLE PRECISION NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "completed_at" TIMESTAMPTZ(3),
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "expired_at" TIMESTAMPTZ(3),
    "timeline" JSONB NOT NULL,

    CONSTRAINT "idempotency_records_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "orders" (
    "id" TEXT NOT NULL,
    "tenant_id" TEXT NOT NULL,
    "record_id" TEXT,
    "customer_id" TEXT NOT NULL,
    "currency" CHAR(3) NOT NULL,
    "amount_cents" BIGINT NOT NULL,
    "refunded_cents" BIGINT NOT NULL DEFAULT 0,
    "held_cents" BIGINT NOT NULL DEFAULT 0,
    "items" JSON NOT NULL,
    "note" TEXT,
    "payment_method" TEXT NOT NULL,
    "status" "order_status" NOT NULL DEFAULT 'pending_payment',
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "orders_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "refunds" (
    "id" TEXT NOT NULL,
    "order_id" TEXT NOT NULL,
    "tenant_id" TEXT NOT NULL,
    "record_id" TEXT,
    "amount_cents" BIGINT NOT NULL,
    "reason" TEXT,
    "status" "refund_status" NOT NULL DEFAULT 'pending',
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "refunds_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "ledger_entries" (
    "id" TEXT NOT NULL,
    "kind" "ledger_kind" NOT NULL,
    "status" "ledger_status" NOT NULL,
    "tenant_id" TEXT NOT NULL,
    "order_id" TEXT NOT NULL,
    "record_id" TEXT,
    "amount_cents" BIGINT NOT NULL,
    "currency" CHAR(3) NOT NULL,
    "provider_ref" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT clock_timestamp(),

    CONSTRAINT "ledger_entries_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "evidence" (
    "id" TEXT NOT NULL,
    "record_id" TEXT,
    "source" TEXT NOT NULL,
    "source_id" TEXT NOT NULL,
    "attempt" INTEGER NOT NULL,
    "verdict" TEXT NOT NULL,
    "detail" JSONB NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT clock_timestamp(),

    CONSTRAINT "evidence_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "discrepancies" (
    "id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "subject" TEXT NOT NULL,
    "record_id" TEXT,
    "detail" JSONB NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT clock_timestamp(),
    "closed_at" TIMESTAMPTZ(3),

    CONSTRAINT "discrepancies_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "operators" (
    "id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "email" TEXT NOT NULL,
    "email_verified" BOOLEAN NOT NULL DEFAULT false,
    "image" TEXT,
    "role" TEXT NOT NULL DEFAULT 'viewer',
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT clock_timestamp(),
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT clock_timestamp(),

    CONSTRAINT "operators_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "operator_accounts" (
    "id" TEXT NOT NULL,
    "operator_id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "provider_id" TEXT NOT NULL,
    "password" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT clock_timestamp(),
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT clock_timestamp(),

    CONSTRAINT "operator_accounts_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "sandbox"."charges" (
    "ref" TEXT NOT NULL,
    "provider_key" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "status" TEXT NOT NULL,
    "order_id" TEXT NOT NULL,
    "customer_id" TEXT NOT NULL,
    "amount_cents" BIGINT NOT NULL,
    "currency" CHAR(3) NOT NULL,
    "booked_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "charges_pkey" PRIMARY KEY ("ref")
);

-- CreateTable
CREATE TABLE "sandbox"."attempts" (
    "provider_key" TEXT NOT NULL,
    "count" INTEGER NOT NULL,

    CONSTRAINT "attempts_pkey" PRIMARY KEY ("provider_key")
);

-- CreateIndex
CREATE UNIQUE INDEX "tenants_name_key" ON "tenants"("name");

-- CreateIndex
CREATE UNIQUE INDEX "api_keys_hash_key" ON "api_keys"("hash");

-- CreateIndex
CREATE INDEX "api_keys_tenant_id_idx" ON "api_keys"("tenant_id");

-- CreateIndex
CREATE UNIQUE INDEX "idempotency_records_tenant_id_endpoint_key_key" ON "idempotency_records"("tenant_id", "endpoint", "key");

-- CreateIndex
CREATE UNIQUE INDEX "orders_record_id_key" ON "orders"("record_id");

-- CreateIndex
CREATE INDEX "orders_tenant_id_created_at_id_idx" ON "orders"("tenant_id", "created_at" DESC, "id" DESC);

-- CreateIndex
CREATE UNIQUE INDEX "refunds_record_id_key" ON "refunds"("record_id");

-- CreateIndex
CREATE INDEX "refunds_order_id_idx" ON "refunds"("order_id");

-- CreateIndex
CREATE UNIQUE INDEX "ledger_entries_record_id_key" ON "ledger_entries"("record_id");

-- CreateIndex
CREATE UNIQUE INDEX "ledger_entries_provider_ref_key" ON "ledger_entries"("provider_ref");

-- CreateIndex
CREATE INDEX "ledger_entries_order_id_idx" ON "ledger_entries"("order_id");

-- CreateIndex
CREATE INDEX "evidence_record_id_idx" ON "evidence"("record_id");

-- CreateIndex
CREATE UNIQUE INDEX "evidence_source_source_id_key" ON "evidence"("source", "source_id");

-- CreateIndex
CREATE UNIQUE INDEX "discrepancies_kind_subject_key" ON "discrepancies"("kind", "subject");

-- CreateIndex
CREATE UNIQUE INDEX "operators_email_key" ON "operators"("email");

-- CreateIndex
CREATE INDEX "operator_accounts_operator_id_idx" ON "operator_accounts"("operator_id");

-- CreateIndex
CREATE UNIQUE INDEX "operator_accounts_provider_id_account_id_key" ON "operator_accounts"("provider_id", "account_id");

-- CreateIndex
CREATE INDEX "charges_provider_key_idx" ON "sandbox"."charges"("provider_key");

-- CreateIndex
CREATE INDEX "charges_customer_id_booked_at_idx" ON "sandbox"."charges"("customer_id", "booked_at");

-- AddForeignKey
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_tenant_id_fkey" FOREIGN KEY ("tenant_id") REFERENCES "tenants"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "orders" ADD CONSTRAINT "orders_record_id_fkey" FOREIGN KEY ("record_id") REFERENCES "idempotency_records"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "refunds" ADD CONSTRAINT "refunds_order_id_fkey" FOREIGN KEY ("order_id") REFERENCES "orders"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "refunds" ADD CONSTRAINT "refunds_record_id_fkey" FOREIGN KEY ("record_id") REFERENCES "idempotency_records"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "ledger_entries" ADD CONSTRAINT "ledger_entries_order_id_fkey" FOREIGN KEY ("order_id") REFERENCES "orders"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "ledger_entries" ADD CONSTRAINT "ledger_entries_record_id_fkey" FOREIGN KEY ("record_id") REFERENCES "idempotency_records"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "evidence" ADD CONSTRAINT "evidence_record_id_fkey" FOREIGN KEY ("record_id") REFERENCES "idempotency_records"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "operator_accounts" ADD CONSTRAINT "operator_accounts_operator_id_fkey" FOREIGN KEY ("operator_id") REFERENCES "operators"("id") ON DELETE CASCADE ON UPDATE CASCADE;


-- By hand -------------------------------------------------------------------------------------------------------

-- Settling makes a row longer (its answer, two timeline events): room on the page keeps that update HOT.
ALTER TABLE idempotency_records SET (fillfactor = 60);
ALTER TABLE orders SET (fillfactor = 90);

-- Counters of the last minute: losing them in a crash costs a minute's accuracy, logging them costs every flush.
ALTER TABLE tenant_usage SET UNLOGGED;

ALTER TABLE tenants
  ADD CONSTRAINT tenants_limits CHECK (new_keys_per_minute >= 0 AND live_key_cap >= 0),
  ADD CONSTRAINT tenants_retention CHECK (retention_hours > 0);

-- Each state and its columns. A row that breaks one of these is a bug, whoever wrote it.
ALTER TABLE idempotency_records
  ADD CONSTRAINT records_key CHECK (length(key) BETWEEN 16 AND 255),
  ADD CONSTRAINT records_fingerprint CHECK (fingerprint ~ '^v[0-9]+:[0-9a-f]{64}$'),
  ADD CONSTRAINT records_counts CHECK (attempt >= 0 AND version >= 1 AND reconcile_attempts >= 0 AND replay_count >= 0),
  ADD CONSTRAINT records_retention CHECK (retention_seconds > 0),
  ADD CONSTRAINT records_resource CHECK ((resource_type IS NULL) = (resource_id IS NULL)),
  ADD CONSTRAINT records_timeline CHECK (jsonb_typeof(timeline) = 'array' AND jsonb_array_length(timeline) >= 1),
  -- accepted, nobody has it yet: only asynchronous requests wait
  ADD CONSTRAINT records_pending CHECK (state <> 'pending' OR (async AND attempt = 0 AND request IS NOT NULL)),
  -- exactly the states between claim and outcome hold a lease
  ADD CONSTRAINT records_lease CHECK (
    (state = 'in_progress') = (locked_until IS NOT NULL) AND (locked_until IS NULL) = (locked_by IS NULL)),
  ADD CONSTRAINT records_in_progress CHECK (
    state <> 'in_progress' OR (attempt >= 1 AND settles_at >= locked_until AND recovery_point IS NOT NULL AND request IS NOT NULL)),
  -- an answer is stored when it is final, and only a 2xx or 4xx is
  ADD CONSTRAINT records_answer CHECK (
    CASE state
      WHEN 'completed' THEN response_status BETWEEN 200 AND 499 AND response_body IS NOT NULL
        AND response_headers IS NOT NULL AND response_version IS NOT NULL AND completed_at IS NOT NULL
      WHEN 'expired' THEN response_body IS NULL AND response_headers IS NULL AND request IS NULL AND expired_at IS NOT NULL
      ELSE response_status IS NULL AND response_body IS NULL AND completed_at IS NULL
    END),
  ADD CONSTRAINT records_expired CHECK ((state = 'expired') = (expired_at IS NOT NULL)),
  ADD CONSTRAINT records_retryable CHECK (state <> 'failed_retryable' OR request IS NOT NULL),
  -- may have executed: either somebody will look, or people were told
  ADD CONSTRAINT records_unknown CHECK (
    state <> 'unknown' OR (attempt >= 1 AND settles_at IS NOT NULL AND request IS NOT NULL
      AND (reconcile_after IS NOT NULL OR dead_lettered_at IS NOT NULL)));

ALTER TABLE orders
  ADD CONSTRAINT orders_amounts CHECK (amount_cents > 0 AND refunded_cents >= 0 AND held_cents >= 0
    AND refunded_cents + held_cents <= amount_cents),
  ADD CONSTRAINT orders_refund_status CHECK (
    CASE status
      WHEN 'refunded' THEN refunded_cents = amount_cents
      WHEN 'partially_refunded' THEN refunded_cents > 0 AND refunded_cents < amount_cents
      ELSE refunded_cents = 0
    END);
ALTER TABLE refunds ADD CONSTRAINT refunds_amount CHECK (amount_cents > 0);
ALTER TABLE ledger_entries ADD CONSTRAINT ledger_entries_amount CHECK (amount_cents > 0);
ALTER TABLE evidence
  ADD CONSTRAINT evidence_source CHECK (source IN ('late_owner', 'look_up', 'webhook', 'operator')),
  ADD CONSTRAINT evidence_verdict CHECK (verdict IN ('succeeded', 'declined', 'not_found', 'not_executed'));
ALTER TABLE operators ADD CONSTRAINT operators_role CHECK (role IN ('viewer', 'operator', 'admin'));
ALTER TABLE sandbox.charges
  ADD CONSTRAINT charges_kind CHECK (kind IN ('charge', 'refund')),
  ADD CONSTRAINT charges_status CHECK (status IN ('succeeded', 'failed'));

-- Moves between states. The conditions are in WHEN, so a legal move never enters the function: it costs nothing.
CREATE FUNCTION refuse_record_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    RAISE EXCEPTION 'a record begins pending or in_progress, not %', NEW.state USING ERRCODE = 'check_violation';
  ELSIF TG_OP = 'DELETE' THEN
    RAISE EXCEPTION 'only an expired record may be deleted, % is %', OLD.id, OLD.state USING ERRCODE = 'check_violation';
  END IF;
  RAISE EXCEPTION 'record %: from % (attempt %, version %) to % (attempt %, version %) is not a legal move with its event',
    OLD.id, OLD.state, OLD.attempt, OLD.version, NEW.state, NEW.attempt, NEW.version USING ERRCODE = 'check_violation';
END $$;

CREATE TRIGGER records_begin BEFORE INSERT ON idempotency_records FOR EACH ROW
  WHEN (NEW.state NOT IN ('pending', 'in_progress'))
  EXECUTE FUNCTION refuse_record_change();

-- A move is legal when the table of states has it, it raises the version, it leaves an event in the timeline, and
-- it raises the attempt by one exactly when it is a claim. Without a move the attempt stays.
CREATE TRIGGER records_move BEFORE UPDATE ON idempotency_records FOR EACH ROW
  WHEN (
    CASE WHEN OLD.state = NEW.state THEN
      OLD.attempt <> NEW.attempt OR NEW.version < OLD.version
    ELSE
      (OLD.state, NEW.state) NOT IN (
        ('pending', 'in_progress'), ('pending', 'completed'),
        ('in_progress', 'completed'), ('in_progress', 'failed_retryable'), ('in_progress', 'unknown'),
        ('completed', 'expired'),
        ('failed_retryable', 'in_progress'), ('failed_retryable', 'completed'), ('failed_retryable', 'expired'),
        ('unknown', 'completed'), ('unknown', 'failed_retryable'))
      OR NEW.attempt <> OLD.attempt + (NEW.state = 'in_progress')::int
      OR NEW.version <= OLD.version
      OR jsonb_array_length(NEW.timeline) <= jsonb_array_length(OLD.timeline)
    END)
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

CREATE TRIGGER records_delete BEFORE DELETE ON idempotency_records FOR EACH ROW
  WHEN (OLD.state <> 'expired')
  EXECUTE FUNCTION refuse_record_change();

-- Records carry no foreign key to tenants: its check would lock the tenant's one row for every reservation.
-- Tenants are disabled, never deleted; that keeps the reference whole from the other side.
CREATE FUNCTION refuse_tenant_delete() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'tenants are disabled, not deleted' USING ERRCODE = 'check_violation';
END $$;

CREATE TRIGGER tenants_delete BEFORE DELETE ON tenants FOR EACH ROW EXECUTE FUNCTION refuse_tenant_delete();

-- The ledger is written once.
CREATE FUNCTION refuse_ledger_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the ledger is append-only' USING ERRCODE = 'check_violation';
END $$;

-- ON DELETE SET NULL of a reaped record may still clear record_id, and nothing else.
CREATE TRIGGER ledger_entries_update BEFORE UPDATE ON ledger_entries FOR EACH ROW
  WHEN (NEW.record_id IS NOT NULL OR
    (OLD.id, OLD.kind, OLD.status, OLD.tenant_id, OLD.order_id, OLD.amount_cents, OLD.currency, OLD.provider_ref, OLD.created_at)
    IS DISTINCT FROM
    (NEW.id, NEW.kind, NEW.status, NEW.tenant_id, NEW.order_id, NEW.amount_cents, NEW.currency, NEW.provider_ref, NEW.created_at))
  EXECUTE FUNCTION refuse_ledger_change();
CREATE TRIGGER ledger_entries_delete BEFORE DELETE ON ledger_entries FOR EACH ROW EXECUTE FUNCTION refuse_ledger_change();

-- The record as it is now, not as it was when the calling statement began. A reservation whose rival commits after
-- that moment is refused by the unique index, yet its own snapshot has no such row; VOLATILE gives this one a newer
-- snapshot, so that the same statement can still say what it lost to.
CREATE FUNCTION latest_record(in_tenant text, in_endpoint text, in_key text) RETURNS SETOF idempotency_records
LANGUAGE sql VOLATILE ROWS 1 AS $$
  SELECT * FROM idempotency_records WHERE tenant_id = in_tenant AND endpoint = in_endpoint AND key = in_key
$$;
