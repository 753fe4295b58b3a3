-- Which keys are replayed most? Only what was replayed at all is in it, with all that the list filters by, so that a
-- filter is answered from the index alone.
-- Requests and replays don't pay for it: replays are counted in memory, and added to a record at most every two seconds.
-- That update used to stay on its page, and now writes the record's index entries again.
-- Alone in its migration: CONCURRENTLY, which lets live traffic write meanwhile, can't share a transaction.
CREATE INDEX CONCURRENTLY records_replayed ON idempotency_records (replay_count, created_at, id, tenant_id, endpoint, state) WHERE replay_count > 0;
