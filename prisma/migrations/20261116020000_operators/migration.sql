-- Who operates, and what is remembered of it: sessions, tokens, bulk runs' keys, the audit log.
-- Additions only: nodes of the release before go on working beside it.

SET lock_timeout = '5s';

-- AlterTable
ALTER TABLE "operators" ADD COLUMN     "disabled_at" TIMESTAMPTZ(3);

-- AlterTable
ALTER TABLE "runs" ADD COLUMN     "worked_by" TEXT;

-- CreateTable
CREATE TABLE "run_items" (
    "run_id" TEXT NOT NULL,
    "position" INTEGER NOT NULL,
    "record_id" TEXT NOT NULL,
    "outcome" JSONB,
    "done_at" TIMESTAMPTZ(3),

    CONSTRAINT "run_items_pkey" PRIMARY KEY ("run_id","position")
);

-- CreateTable
CREATE TABLE "operator_sessions" (
    "id" TEXT NOT NULL,
    "operator_id" TEXT NOT NULL,
    "token" TEXT NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "ip_address" TEXT,
    "user_agent" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT clock_timestamp(),
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT clock_timestamp(),

    CONSTRAINT "operator_sessions_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "sign_in_failures" (
    "email_hash" BYTEA NOT NULL,
    "count" INTEGER NOT NULL,
    "since" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "sign_in_failures_pkey" PRIMARY KEY ("email_hash")
);

-- CreateTable
CREATE TABLE "operator_tokens" (
    "id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "role" TEXT NOT NULL,
    "hash" BYTEA NOT NULL,
    "created_by" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT clock_timestamp(),
    "expires_at" TIMESTAMPTZ(3),
    "revoked_at" TIMESTAMPTZ(3),
    "last_used_at" TIMESTAMPTZ(3),

    CONSTRAINT "operator_tokens_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "operator_requests" (
    "actor_id" TEXT NOT NULL,
    "call" TEXT NOT NULL,
    "key" TEXT NOT NULL,
    "fingerprint" TEXT NOT NULL,
    "resource_id" TEXT NOT NULL,
    "reserved_at" TIMESTAMPTZ(3) NOT NULL,
    "finished_at" TIMESTAMPTZ(3),
    "status" SMALLINT,
    "body" TEXT,

    CONSTRAINT "operator_requests_pkey" PRIMARY KEY ("actor_id","call","key")
);

-- CreateTable
CREATE TABLE "audit_entries" (
    "seq" BIGINT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "actor_id" TEXT NOT NULL,
    "actor_name" TEXT NOT NULL,
    "action" TEXT NOT NULL,
    "target" TEXT,
    "outcome" TEXT NOT NULL,
    "reason" TEXT,
    "before" JSONB,
    "after" JSONB,
    "request_id" TEXT NOT NULL,
    "previous_hash" BYTEA NOT NULL,
    "hash" BYTEA NOT NULL,

    CONSTRAINT "audit_entries_pkey" PRIMARY KEY ("seq")
);

-- CreateTable
CREATE TABLE "audit_head" (
    "one" BOOLEAN NOT NULL DEFAULT true,
    "seq" BIGINT NOT NULL,
    "hash" BYTEA NOT NULL,

    CONSTRAINT "audit_head_pkey" PRIMARY KEY ("one")
);

-- CreateTable
CREATE TABLE "secrets" (
    "name" TEXT NOT NULL,
    "value" TEXT NOT NULL,

    CONSTRAINT "secrets_pkey" PRIMARY KEY ("name")
);

-- CreateIndex
CREATE UNIQUE INDEX "operator_sessions_token_key" ON "operator_sessions"("token");

-- CreateIndex
CREATE INDEX "operator_sessions_operator_id_idx" ON "operator_sessions"("operator_id");

-- CreateIndex
CREATE INDEX "operator_sessions_expires_at_idx" ON "operator_sessions"("expires_at");

-- CreateIndex
CREATE INDEX "sign_in_failures_since_idx" ON "sign_in_failures"("since");

-- CreateIndex
CREATE UNIQUE INDEX "operator_tokens_hash_key" ON "operator_tokens"("hash");

-- CreateIndex
CREATE INDEX "operator_tokens_created_at_id_idx" ON "operator_tokens"("created_at" DESC, "id" DESC);

-- CreateIndex
CREATE INDEX "operator_requests_reserved_at_idx" ON "operator_requests"("reserved_at");

-- CreateIndex
CREATE INDEX "audit_entries_actor_id_seq_idx" ON "audit_entries"("actor_id", "seq" DESC);

-- CreateIndex
CREATE INDEX "audit_entries_action_seq_idx" ON "audit_entries"("action", "seq" DESC);

-- CreateIndex
CREATE INDEX "audit_entries_target_seq_idx" ON "audit_entries"("target", "seq" DESC);

-- AddForeignKey
ALTER TABLE "run_items" ADD CONSTRAINT "run_items_run_id_fkey" FOREIGN KEY ("run_id") REFERENCES "runs"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "operator_sessions" ADD CONSTRAINT "operator_sessions_operator_id_fkey" FOREIGN KEY ("operator_id") REFERENCES "operators"("id") ON DELETE CASCADE ON UPDATE CASCADE;


-- By hand -------------------------------------------------------------------------------------------------------

ALTER TABLE operator_tokens ADD CONSTRAINT operator_tokens_role CHECK (role IN ('viewer', 'operator', 'admin'));
ALTER TABLE operator_requests
  ADD CONSTRAINT operator_requests_finished CHECK ((finished_at IS NULL) = (status IS NULL)),
  ADD CONSTRAINT operator_requests_status CHECK (status BETWEEN 200 AND 499);
ALTER TABLE run_items ADD CONSTRAINT run_items_done CHECK ((outcome IS NULL) = (done_at IS NULL));

-- The next keys of a bulk run that are not done.
CREATE INDEX run_items_open ON run_items (run_id, position) WHERE outcome IS NULL;

ALTER TABLE audit_entries ADD CONSTRAINT audit_entries_outcome CHECK (outcome IN ('done', 'forbidden'));
ALTER TABLE audit_head ADD CONSTRAINT audit_head_one CHECK (one);
INSERT INTO audit_head (seq, hash) VALUES (0, decode(repeat('00', 32), 'hex'));

-- What an entry's hash is made of: the hash before it, and the entry as a JSON array, which no choice of words can
-- make ambiguous. lib/audit/verify.ts computes the same outside of the database.
CREATE FUNCTION audit_content(e audit_entries) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT jsonb_build_array(e.seq, to_char(e.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), e.actor_id, e.actor_name,
    e.action, e.target, e.outcome, e.reason, e.before, e.after, e.request_id)::text
$$;

-- Whoever inserts, in whatever statement: the chain is made here. The head's row lock puts entries in an order, held
-- until the audited change commits, so no entry is chained to one that is rolled back.
CREATE FUNCTION chain_audit_entry() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  SELECT h.seq + 1, h.hash INTO NEW.seq, NEW.previous_hash FROM audit_head h FOR UPDATE;
  IF NEW.seq IS NULL THEN
    RAISE EXCEPTION 'the audit log has no head' USING ERRCODE = 'check_violation';
  END IF;
  NEW.at := date_trunc('milliseconds', clock_timestamp());
  NEW.hash := sha256(NEW.previous_hash || convert_to(audit_content(NEW), 'UTF8'));
  UPDATE audit_head SET seq = NEW.seq, hash = NEW.hash;
  RETURN NEW;
END $$;

CREATE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the audit log is append-only: % of % is refused', TG_OP, TG_TABLE_NAME USING ERRCODE = 'check_violation';
END $$;

CREATE TRIGGER audit_chain BEFORE INSERT ON audit_entries FOR EACH ROW EXECUTE FUNCTION chain_audit_entry();
CREATE TRIGGER audit_append_only BEFORE UPDATE OR DELETE ON audit_entries FOR EACH ROW EXECUTE FUNCTION refuse_audit_change();
CREATE TRIGGER audit_no_truncate BEFORE TRUNCATE ON audit_entries FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change();
-- The head moves only from within the chain's own trigger.
CREATE TRIGGER audit_head_moves BEFORE UPDATE ON audit_head FOR EACH ROW WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION refuse_audit_change();
CREATE TRIGGER audit_head_stays BEFORE INSERT OR DELETE ON audit_head FOR EACH ROW EXECUTE FUNCTION refuse_audit_change();
CREATE TRIGGER audit_head_no_truncate BEFORE TRUNCATE ON audit_head FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change();
-- ALWAYS: also where a session calls itself a replica.
ALTER TABLE audit_entries ENABLE ALWAYS TRIGGER audit_chain;
ALTER TABLE audit_entries ENABLE ALWAYS TRIGGER audit_append_only;
ALTER TABLE audit_entries ENABLE ALWAYS TRIGGER audit_no_truncate;
ALTER TABLE audit_head ENABLE ALWAYS TRIGGER audit_head_moves;
ALTER TABLE audit_head ENABLE ALWAYS TRIGGER audit_head_stays;
ALTER TABLE audit_head ENABLE ALWAYS TRIGGER audit_head_no_truncate;
