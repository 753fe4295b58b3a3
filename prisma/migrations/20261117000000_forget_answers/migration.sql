-- A node may keep a finished answer in memory for as long as its record lives. Whoever ends that life early, by whatever
-- statement, tells every node with it. What ends in its time needs no word: the node knows when that is.

SET lock_timeout = '5s';

CREATE FUNCTION tell_to_forget() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('onceover_forget', OLD.id);
  RETURN NULL;
END $$;

CREATE TRIGGER records_forgotten AFTER UPDATE OF state, expires_at ON idempotency_records FOR EACH ROW
  WHEN (OLD.state = 'completed' AND OLD.expires_at > clock_timestamp()
    AND (NEW.state <> 'completed' OR NEW.expires_at < OLD.expires_at))
  EXECUTE FUNCTION tell_to_forget();

-- An empty notification: forget all.
CREATE FUNCTION tell_to_forget_all() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('onceover_forget', '');
  RETURN NULL;
END $$;

CREATE TRIGGER records_truncated AFTER TRUNCATE ON idempotency_records FOR EACH STATEMENT
  EXECUTE FUNCTION tell_to_forget_all();
