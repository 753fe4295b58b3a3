-- A timeline keeps the first and the last 50 attempts and look-ups; those in between are summed up in one event, so that
-- a key that is retried for ever has a row of bounded size. Below 100 events nothing is summed up, and nothing is asked.

SET lock_timeout = '5s';

-- What an attempt or a look-up consists of begins with one of four events. Evidence is kept, and so is the last event that
-- says since when the outcome is unknown: both are read from here. `last` is how many the end keeps, the next one apart.
CREATE FUNCTION summed_up_timeline(timeline jsonb, last integer) RETURNS jsonb LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  WITH event AS (
    SELECT place, e, e->>'event' AS name,
      count(*) FILTER (WHERE e->>'event' IN ('reserved', 'claimed', 'looked_up', 'run_again', 'resumed'))
        OVER (ORDER BY place) AS entry
    FROM jsonb_array_elements(timeline) WITH ORDINALITY AS all_events (e, place)
  ), bounds AS (
    SELECT max(entry) AS entries, max(place) FILTER (WHERE name IN ('outcome_unknown', 'lease_over')) AS unknown_since
    FROM event
  ), judged AS (
    SELECT event.*, name = 'summed_up' OR entry > 50 AND entry <= entries - last AND place IS DISTINCT FROM unknown_since
      AND name IN ('claimed', 'phase', 'released', 'outcome_unknown', 'lease_over', 'looked_up', 'dead_lettered',
        'run_again', 'resumed') AS old
    FROM event, bounds
  ), summary AS (
    SELECT min(place) AS place, jsonb_build_object(
      'at', (array_agg(e->'at' ORDER BY place))[1], 'event', 'summed_up', 'by', 'timeline',
      'until', (array_agg(coalesce(e->'until', e->'at') ORDER BY place DESC))[1],
      'attempts', count(*) FILTER (WHERE name = 'claimed') + coalesce(sum((e->>'attempts')::integer), 0),
      'lookUps', count(*) FILTER (WHERE name = 'looked_up') + coalesce(sum((e->>'lookUps')::integer), 0)) AS e
    FROM judged WHERE old HAVING bool_or(name <> 'summed_up')
  )
  SELECT CASE WHEN EXISTS (SELECT FROM summary) THEN (
    SELECT jsonb_agg(kept.e ORDER BY kept.place)
    FROM (SELECT place, e FROM judged WHERE NOT old UNION ALL SELECT place, e FROM summary) kept
  ) ELSE timeline END
$$;

-- As before, but a long timeline may become shorter with its next event.
CREATE OR REPLACE FUNCTION move_record() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (CASE WHEN OLD.state = NEW.state THEN
      NEW.attempt <> OLD.attempt OR NEW.version < OLD.version
    ELSE
      NEW.attempt <> OLD.attempt + (NEW.state = 'in_progress')::integer
      OR NEW.version <= OLD.version
      OR jsonb_array_length(NEW.timeline) <= jsonb_array_length(OLD.timeline)
        AND (jsonb_array_length(OLD.timeline) < 100 OR NEW.timeline -> -1 = OLD.timeline -> -1)
      OR NOT CASE OLD.state
        WHEN 'pending' THEN NEW.state IN ('in_progress', 'completed')
        WHEN 'in_progress' THEN NEW.state IN ('completed', 'failed_retryable', 'unknown')
        WHEN 'completed' THEN NEW.state = 'expired'
        WHEN 'failed_retryable' THEN NEW.state IN ('in_progress', 'completed', 'unknown', 'expired')
        WHEN 'unknown' THEN NEW.state IN ('completed', 'failed_retryable')
        ELSE false
      END
    END) THEN
    RAISE EXCEPTION 'record %: from % (attempt %, version %) to % (attempt %, version %) is not a legal move with its event',
      OLD.id, OLD.state, OLD.attempt, OLD.version, NEW.state, NEW.attempt, NEW.version USING ERRCODE = 'check_violation';
  END IF;

  IF NEW.money_differs AND (NEW.effect_evidence OR NEW.state NOT IN ('in_progress', 'unknown')) THEN
    RAISE EXCEPTION 'record %: with evidence of other money it can''t be %', OLD.id, NEW.state
      USING ERRCODE = 'check_violation', TABLE = 'idempotency_records', CONSTRAINT = 'records_money_differs';
  END IF;

  -- Evidence was kept while somebody owned the record, and the owner may settle with something else: a charge of its own
  -- beside the one that we were told of. In here, because evidence that was committed while the settling statement waited
  -- for the row is not in that statement's snapshot; the row is locked by now, and what follows has a newer one.
  IF NEW.effect_evidence AND OLD.state <> NEW.state AND NEW.state IN ('completed', 'expired') THEN
    INSERT INTO public.discrepancies (id, kind, subject, record_id, detail)
    SELECT 'dis_' || replace(gen_random_uuid()::text, '-', ''), 'contradicting_evidence', NEW.id || ':' || (e.detail->>'ref'),
      NEW.id, jsonb_build_object('verdict', e.verdict, 'ref', e.detail->>'ref', 'source', e.source, 'state', NEW.state,
        'responseStatus', NEW.response_status, 'effectRef', NEW.effect_ref)
    FROM public.evidence e
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
