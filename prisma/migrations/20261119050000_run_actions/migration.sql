-- A bulk run does one of several things to its keys. And when the provider answered a look-up last: dead letters that met
-- its silence are resumed when it ends.

SET lock_timeout = '5s';

ALTER TABLE "runs" ADD COLUMN "action" TEXT;

CREATE TABLE "look_up_answers" (
    "name" TEXT NOT NULL,
    "answered_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "look_up_answers_pkey" PRIMARY KEY ("name")
);
