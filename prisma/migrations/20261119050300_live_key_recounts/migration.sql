-- A node that is killed takes the new keys with it that it had not yet added to its tenants' counters. The reaper counts
-- live keys anew, some records a run, and keeps here how far it is.

SET lock_timeout = '5s';

CREATE TABLE "live_key_recounts" (
    "name" TEXT NOT NULL,
    "as_of" TIMESTAMPTZ(3) NOT NULL,
    "position" TEXT NOT NULL,
    "last" TEXT NOT NULL,

    CONSTRAINT "live_key_recounts_pkey" PRIMARY KEY ("name")
);

CREATE TABLE "live_key_tallies" (
    "tenant_id" TEXT NOT NULL,
    "least" BIGINT NOT NULL,
    "most" BIGINT NOT NULL,
    "counted" BIGINT NOT NULL,

    CONSTRAINT "live_key_tallies_pkey" PRIMARY KEY ("tenant_id")
);
