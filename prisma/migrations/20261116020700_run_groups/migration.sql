-- What a dry run would do, by rule and state, and whose keys those mostly are.

SET lock_timeout = '5s';

-- AlterTable
ALTER TABLE "runs" ADD COLUMN     "groups" JSONB;
