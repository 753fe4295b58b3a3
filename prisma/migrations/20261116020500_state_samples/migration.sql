-- How many records were in each state, by the minute: what is usual, and since when it is not. And runs of sample traffic,
-- of which there is one at a time.

SET lock_timeout = '5s';

-- CreateTable
CREATE TABLE "state_samples" (
    "at" TIMESTAMPTZ(0) NOT NULL,
    "state" "record_state" NOT NULL,
    "count" BIGINT NOT NULL,
    "oldest_seconds" DOUBLE PRECISION,

    CONSTRAINT "state_samples_pkey" PRIMARY KEY ("at","state")
);

ALTER TABLE runs
  DROP CONSTRAINT runs_kind,
  ADD CONSTRAINT runs_kind CHECK (kind IN ('sweeper', 'reaper', 'reconciler', 'ledger', 'bulk', 'traffic')),
  ADD CONSTRAINT runs_one_traffic EXCLUDE USING btree (kind WITH =) WHERE (kind = 'traffic' AND state = 'running');
