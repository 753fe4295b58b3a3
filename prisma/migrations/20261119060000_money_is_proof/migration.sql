-- Evidence of an effect is proof only with the record's own money. What speaks of other money is kept, and from then on a
-- person decides.

SET lock_timeout = '5s';

-- true for what is there and for what a node of the release before writes: a further attempt then asks the provider first.
ALTER TABLE idempotency_records
  ADD COLUMN money_differs boolean NOT NULL DEFAULT false,
  ADD COLUMN in_doubt boolean NOT NULL DEFAULT true;

ALTER TABLE evidence
  ADD CONSTRAINT evidence_known_source CHECK (source IN ('owner', 'late_owner', 'look_up', 'webhook', 'operator')) NOT VALID,
  DROP CONSTRAINT evidence_source;

-- As before, with two rules more: failed_retryable may become unknown, and only a record in progress or unknown can hold
-- evidence of other money.
CREATE OR REPLACE FUNCTION move_record() RETURNS trigger LANGUAGE plpgsql AS $$
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

-- What a comparison could not judge yet: the provider had not decided, or the record was still being worked on.
CREATE TABLE ledger_revisits (
  ref text PRIMARY KEY,
  kind ledger_kind NOT NULL,
  status text NOT NULL CONSTRAINT ledger_revisits_status CHECK (status IN ('succeeded', 'pending')),
  provider_key text NOT NULL,
  order_id text,
  amount_cents bigint NOT NULL,
  currency char(3) NOT NULL,
  created_at timestamptz(3) NOT NULL
);

-- A booking that a person's verdict made can be reversed: it and its reversing entry no longer count, and its reference
-- and its record are free for another booking.
ALTER TABLE ledger_entries
  ADD COLUMN reversal_of text REFERENCES ledger_entries (id) ON DELETE RESTRICT ON UPDATE CASCADE,
  ADD COLUMN reversed_at timestamptz(3),
  ADD CONSTRAINT ledger_entries_reversal CHECK (reversal_of IS NULL OR reversed_at IS NOT NULL);

-- The ledger is written once, but for the moment at which an entry stops to count.
CREATE OR REPLACE FUNCTION refuse_ledger_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'UPDATE' AND OLD.reversed_at IS NULL AND NEW.reversed_at IS NOT NULL
    AND (to_jsonb(NEW) - 'reversed_at') = (to_jsonb(OLD) - 'reversed_at') THEN
    RETURN NEW;
  END IF;
  RAISE EXCEPTION 'the ledger is append-only' USING ERRCODE = 'check_violation';
END $$;
