-- A look-up that can't read the provider's whole list in its time keeps where it stopped, and the next one goes on there.

SET lock_timeout = '5s';

-- doubt_until: null for what a node of the release before writes; a look-up then reads up to settles_at.
ALTER TABLE idempotency_records
  ADD COLUMN doubt_until timestamptz(3),
  ADD COLUMN look_up_progress text;
