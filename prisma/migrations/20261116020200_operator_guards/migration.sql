-- What holds of operators whoever writes, psql included: an admin is always left, and a session ends with the right
-- to it. Each function's statements see what was committed while the row's lock was waited for; the statement that
-- fires it would not.

SET lock_timeout = '5s';

ALTER TABLE operators ADD CONSTRAINT operators_email CHECK (email = lower(email));

-- Two admins who demote each other at the same moment change different rows: the lock lets the second one look only
-- when the first has committed. Any number, as long as nothing else in the database uses it.
CREATE FUNCTION keep_an_admin() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(7306502);
  IF NOT EXISTS (SELECT FROM operators WHERE id <> OLD.id AND role = 'admin' AND disabled_at IS NULL) THEN
    RAISE EXCEPTION 'the last enabled admin stays' USING ERRCODE = 'check_violation', CONSTRAINT = 'operators_last_admin';
  END IF;
  RETURN coalesce(NEW, OLD);
END $$;

CREATE TRIGGER operators_last_admin_changed BEFORE UPDATE OF role, disabled_at ON operators FOR EACH ROW
  WHEN (OLD.role = 'admin' AND OLD.disabled_at IS NULL AND (NEW.role <> 'admin' OR NEW.disabled_at IS NOT NULL))
  EXECUTE FUNCTION keep_an_admin();
CREATE TRIGGER operators_last_admin_deleted BEFORE DELETE ON operators FOR EACH ROW
  WHEN (OLD.role = 'admin' AND OLD.disabled_at IS NULL)
  EXECUTE FUNCTION keep_an_admin();

-- The argument names the column with the operator's id.
CREATE FUNCTION end_operator_sessions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM operator_sessions WHERE operator_id = to_jsonb(NEW) ->> TG_ARGV[0];
  RETURN NEW;
END $$;

CREATE TRIGGER operators_disabled BEFORE UPDATE OF disabled_at ON operators FOR EACH ROW
  WHEN (OLD.disabled_at IS NULL AND NEW.disabled_at IS NOT NULL)
  EXECUTE FUNCTION end_operator_sessions('id');
CREATE TRIGGER operator_accounts_password BEFORE UPDATE OF password ON operator_accounts FOR EACH ROW
  WHEN (OLD.password IS DISTINCT FROM NEW.password)
  EXECUTE FUNCTION end_operator_sessions('operator_id');
