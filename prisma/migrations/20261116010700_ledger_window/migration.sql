-- How far the ledger comparison has come: its next window begins there. Nodes of the release before don't look at it.

SET lock_timeout = '5s';

-- AlterTable
ALTER TABLE "schedules" ADD COLUMN     "covered_until" TIMESTAMPTZ(3);
