-- What recovery needs: runs and their schedule, misuse, counters by minute and hour, the sandbox's own reports.
-- Additions only: nodes of the release before go on working beside it.

SET lock_timeout = '5s';

-- CreateEnum
CREATE TYPE "run_state" AS ENUM ('running', 'succeeded', 'failed', 'aborted');

-- AlterTable
ALTER TABLE "discrepancies" ADD COLUMN     "closed_by" TEXT,
ADD COLUMN     "reason" TEXT;

-- CreateTable
CREATE TABLE "runs" (
    "id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "dry_run" BOOLEAN NOT NULL,
    "scheduled" BOOLEAN NOT NULL,
    "requested_by" TEXT NOT NULL,
    "reason" TEXT,
    "state" "run_state" NOT NULL,
    "done" INTEGER NOT NULL DEFAULT 0,
    "total" INTEGER,
    "counts" JSONB NOT NULL,
    "sample" TEXT[],
    "error" TEXT,
    "abort_requested" BOOLEAN NOT NULL DEFAULT false,
    "started_at" TIMESTAMPTZ(3) NOT NULL DEFAULT clock_timestamp(),
    "heartbeat_at" TIMESTAMPTZ(3) NOT NULL DEFAULT clock_timestamp(),
    "finished_at" TIMESTAMPTZ(3),

    CONSTRAINT "runs_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "schedules" (
    "kind" TEXT NOT NULL,
    "next_run_at" TIMESTAMPTZ(3) NOT NULL,
    "last_run_at" TIMESTAMPTZ(3),

    CONSTRAINT "schedules_pkey" PRIMARY KEY ("kind")
);

-- CreateTable
CREATE TABLE "misuse" (
    "id" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL DEFAULT clock_timestamp(),
    "tenant_id" TEXT NOT NULL,
    "endpoint" TEXT NOT NULL,
    "key" TEXT NOT NULL,
    "record_id" TEXT NOT NULL,
    "changed_paths" TEXT[],
    "request_id" TEXT NOT NULL,

    CONSTRAINT "misuse_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "metric_minutes" (
    "at" TIMESTAMPTZ(0) NOT NULL,
    "metric" TEXT NOT NULL,
    "endpoint" TEXT NOT NULL,
    "tenant_id" TEXT NOT NULL,
    "bucket" TEXT NOT NULL,
    "value" DOUBLE PRECISION NOT NULL,

    CONSTRAINT "metric_minutes_pkey" PRIMARY KEY ("metric","at","tenant_id","endpoint","bucket")
);

-- CreateTable
CREATE TABLE "metric_hours" (
    "at" TIMESTAMPTZ(0) NOT NULL,
    "metric" TEXT NOT NULL,
    "endpoint" TEXT NOT NULL,
    "tenant_id" TEXT NOT NULL,
    "bucket" TEXT NOT NULL,
    "value" DOUBLE PRECISION NOT NULL,

    CONSTRAINT "metric_hours_pkey" PRIMARY KEY ("metric","at","tenant_id","endpoint","bucket")
);

-- CreateTable
CREATE TABLE "sandbox"."events" (
    "id" TEXT NOT NULL,
    "charge_ref" TEXT NOT NULL,
    "due_at" TIMESTAMPTZ(3) NOT NULL,
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "delivered_at" TIMESTAMPTZ(3),

    CONSTRAINT "events_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "sandbox"."secrets" (
    "name" TEXT NOT NULL,
    "value" TEXT NOT NULL,

    CONSTRAINT "secrets_pkey" PRIMARY KEY ("name")
);

-- CreateIndex
CREATE INDEX "runs_kind_started_at_idx" ON "runs"("kind", "started_at" DESC);

-- CreateIndex
CREATE INDEX "runs_started_at_id_idx" ON "runs"("started_at" DESC, "id" DESC);

-- CreateIndex
CREATE INDEX "misuse_record_id_at_idx" ON "misuse"("record_id", "at");

-- CreateIndex
CREATE INDEX "misuse_at_id_idx" ON "misuse"("at" DESC, "id" DESC);

-- CreateIndex
CREATE INDEX "metric_minutes_at_idx" ON "metric_minutes"("at");

-- CreateIndex
CREATE INDEX "metric_hours_at_idx" ON "metric_hours"("at");

-- CreateIndex
CREATE INDEX "events_due" ON "sandbox"."events"("due_at") WHERE "delivered_at" IS NULL;

-- CreateIndex
CREATE INDEX "discrepancies_created_at_id_idx" ON "discrepancies"("created_at" DESC, "id" DESC);

-- By hand -------------------------------------------------------------------------------------------------------

ALTER TABLE runs
  ADD CONSTRAINT runs_kind CHECK (kind IN ('sweeper', 'reaper', 'reconciler', 'ledger', 'bulk')),
  ADD CONSTRAINT runs_finished CHECK ((state = 'running') = (finished_at IS NULL)),
  ADD CONSTRAINT runs_sample CHECK (cardinality(sample) <= 100);
