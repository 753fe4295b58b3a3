-- What makes a record impossible is said by one function instead of thirteen CHECKs, and what makes a move illegal by one
-- instead of by the WHEN of a trigger. PostgreSQL keeps a CHECK or a WHEN as the text of a tree and reads that text anew in
-- every statement that writes a row: a third of what an order cost the server. A function is read once a connection.
-- The rules are the same ones and keep their names.

SET lock_timeout = '5s';

-- The arguments are the columns. A rule that comes to NULL is kept, as with any CHECK. By name, as CHECKs are asked.
CREATE FUNCTION record_is_possible(
  state record_state, key text, fingerprint text, async boolean, attempt integer, version integer,
  recovery_point text, locked_until timestamptz, locked_by text, settles_at timestamptz, request text,
  response_status smallint, response_headers text, response_body text, response_version smallint,
  resource_type text, resource_id text, reconcile_after timestamptz, reconcile_attempts integer,
  dead_lettered_at timestamptz, replay_count integer, retention_seconds double precision,
  completed_at timestamptz, expired_at timestamptz, timeline jsonb
) RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  broken CONSTANT text := CASE
    -- an answer is stored when it is final, and only a 2xx or 4xx is
    WHEN CASE state
      WHEN 'completed' THEN response_status IS NULL OR response_status NOT BETWEEN 200 AND 499
        OR response_status BETWEEN 300 AND 399 OR response_body IS NULL OR response_headers IS NULL
        OR response_version IS NULL OR completed_at IS NULL
      WHEN 'expired' THEN response_body IS NOT NULL OR response_headers IS NOT NULL OR request IS NOT NULL
        OR expired_at IS NULL
      ELSE response_status IS NOT NULL OR response_body IS NOT NULL OR completed_at IS NOT NULL
    END THEN 'records_answer'
    WHEN attempt < 0 OR version < 1 OR reconcile_attempts < 0 OR replay_count < 0 THEN 'records_counts'
    WHEN (state = 'expired') <> (expired_at IS NOT NULL) THEN 'records_expired'
    -- ^v[0-9]+:[0-9a-f]{64}$, in fewer steps than a regular expression takes
    WHEN left(fingerprint, -64) NOT LIKE 'v_%:' OR translate(left(fingerprint, -64), '0123456789', '') <> 'v:'
      OR rtrim(right(fingerprint, 64), '0123456789abcdef') <> '' THEN 'records_fingerprint'
    WHEN state = 'in_progress' AND (attempt < 1 OR settles_at IS NULL OR settles_at < locked_until
      OR recovery_point IS NULL OR request IS NULL) THEN 'records_in_progress'
    WHEN length(key) NOT BETWEEN 16 AND 255 THEN 'records_key'
    -- exactly the states between claim and outcome hold a lease
    WHEN (state = 'in_progress') <> (locked_until IS NOT NULL) OR (locked_until IS NULL) <> (locked_by IS NULL)
      THEN 'records_lease'
    -- accepted, nobody has it yet: only asynchronous requests wait
    WHEN state = 'pending' AND (NOT async OR attempt <> 0 OR request IS NULL) THEN 'records_pending'
    WHEN (resource_type IS NULL) <> (resource_id IS NULL) THEN 'records_resource'
    WHEN retention_seconds <= 0 THEN 'records_retention'
    WHEN state = 'failed_retryable' AND request IS NULL THEN 'records_retryable'
    WHEN jsonb_typeof(timeline) <> 'array' OR jsonb_array_length(timeline) < 1 THEN 'records_timeline'
    -- may have executed: either somebody will look, or people were told
    WHEN state = 'unknown' AND (attempt < 1 OR settles_at IS NULL OR request IS NULL
      OR reconcile_after IS NULL AND dead_lettered_at IS NULL) THEN 'records_unknown'
  END;
BEGIN
  IF broken IS NULL THEN RETURN true; END IF;
  RAISE EXCEPTION 'impossible record: it breaks "%"', broken
    USING ERRCODE = 'check_violation', TABLE = 'idempotency_records', CONSTRAINT = broken;
END $$;

-- NOT VALID: what is there kept the same rules until now, and the next migration looks it through without locking.
ALTER TABLE idempotency_records
  ADD CONSTRAINT records_possible CHECK (record_is_possible(
    state, key, fingerprint, async, attempt, version, recovery_point, locked_until, locked_by, settles_at, request,
    response_status, response_headers, response_body, response_version, resource_type, resource_id, reconcile_after,
    reconcile_attempts, dead_lettered_at, replay_count, retention_seconds, completed_at, expired_at, timeline)) NOT VALID,
  DROP CONSTRAINT records_answer,
  DROP CONSTRAINT records_counts,
  DROP CONSTRAINT records_expired,
  DROP CONSTRAINT records_fingerprint,
  DROP CONSTRAINT records_in_progress,
  DROP CONSTRAINT records_key,
  DROP CONSTRAINT records_lease,
  DROP CONSTRAINT records_pending,
  DROP CONSTRAINT records_resource,
  DROP CONSTRAINT records_retention,
  DROP CONSTRAINT records_retryable,
  DROP CONSTRAINT records_timeline,
  DROP CONSTRAINT records_unknown;

-- A move is legal when the table of states has it, it raises the version, it leaves an event in the timeline, and it
-- raises the attempt by one exactly when it is a claim. Without a move the attempt stays.
CREATE FUNCTION move_record() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (CASE WHEN OLD.state = NEW.state THEN
      NEW.attempt <> OLD.attempt OR NEW.version < OLD.version
    ELSE
      NEW.attempt <> OLD.attempt + (NEW.state = 'in_progress')::integer
      OR NEW.version <= OLD.version
      OR jsonb_array_length(NEW.timeline) <= jsonb_array_length(OLD.timeline)
      OR NOT CASE OLD.state
        WHEN 'pending' THEN NEW.state IN ('in_progress', 'completed')
        WHEN 'in_progress' THEN NEW.state IN ('completed', 'failed_retryable', 'unknown')
        WHEN 'completed' THEN NEW.state = 'expired'
        WHEN 'failed_retryable' THEN NEW.state IN ('in_progress', 'completed', 'expired')
        WHEN 'unknown' THEN NEW.state IN ('completed', 'failed_retryable')
        ELSE false
      END
    END) THEN
    RAISE EXCEPTION 'record %: from % (attempt %, version %) to % (attempt %, version %) is not a legal move with its event',
      OLD.id, OLD.state, OLD.attempt, OLD.version, NEW.state, NEW.attempt, NEW.version USING ERRCODE = 'check_violation';
  END IF;

  -- Evidence was kept while somebody owned the record, and the owner may settle with something else: a charge of its own
  -- beside the one that we were told of. In here, because evidence that was committed while the settling statement waited
  -- for the row is not in that statement's snapshot; the row is locked by now, and what follows has a newer one.
  IF NEW.effect_evidence AND OLD.state <> NEW.state AND NEW.state IN ('completed', 'expired') THEN
    INSERT INTO discrepancies (id, kind, subject, record_id, detail)
    SELECT 'dis_' || replace(gen_random_uuid()::text, '-', ''), 'contradicting_evidence', NEW.id || ':' || (e.detail->>'ref'),
      NEW.id, jsonb_build_object('verdict', e.verdict, 'ref', e.detail->>'ref', 'source', e.source, 'state', NEW.state,
        'responseStatus', NEW.response_status, 'effectRef', NEW.effect_ref)
    FROM evidence e
    WHERE e.record_id = NEW.id AND e.verdict = 'succeeded' AND e.detail->>'ref' IS DISTINCT FROM NEW.effect_ref
    ON CONFLICT (kind, subject) DO NOTHING;
  END IF;

  -- Whoever keeps its answer in memory is told of an early end.
  IF OLD.state = 'completed' AND (NEW.state <> 'completed' OR NEW.expires_at < OLD.expires_at)
    AND OLD.expires_at > clock_timestamp() THEN
    PERFORM pg_notify('onceover_forget', OLD.id);
  END IF;
  RETURN NEW;
END $$;

DROP TRIGGER records_contradicted ON idempotency_records;
DROP TRIGGER records_forgotten ON idempotency_records;
CREATE OR REPLACE TRIGGER records_move BEFORE UPDATE ON idempotency_records FOR EACH ROW EXECUTE FUNCTION move_record();
DROP FUNCTION open_contradictions(), tell_to_forget();
