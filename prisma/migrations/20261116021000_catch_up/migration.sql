-- A database of the first release was made by a foundation that was added to afterwards. What it lacks is added here;
-- where it is there already, nothing changes. Nodes of the first release don't write the columns: who reads them asks
-- the ledger where they are empty. The CHECKs are stricter than theirs only in what no release ever wrote.

SET lock_timeout = '5s';

-- In the order in which every request takes them: orders first would meet the requests half-way.
LOCK TABLE idempotency_records, orders, refunds IN ACCESS EXCLUSIVE MODE;

ALTER TABLE orders ADD COLUMN IF NOT EXISTS charge_ref TEXT;
ALTER TABLE refunds ADD COLUMN IF NOT EXISTS provider_ref TEXT;

-- NOT VALID: what is there is looked through by the next migration, which locks nobody out.
ALTER TABLE idempotency_records
  DROP CONSTRAINT records_in_progress,
  ADD CONSTRAINT records_in_progress CHECK (
    state <> 'in_progress' OR (attempt >= 1 AND settles_at IS NOT NULL AND settles_at >= locked_until
      AND recovery_point IS NOT NULL AND request IS NOT NULL)) NOT VALID,
  DROP CONSTRAINT records_answer,
  ADD CONSTRAINT records_answer CHECK (
    CASE state
      WHEN 'completed' THEN response_status IS NOT NULL
        AND (response_status BETWEEN 200 AND 299 OR response_status BETWEEN 400 AND 499)
        AND response_body IS NOT NULL AND response_headers IS NOT NULL AND response_version IS NOT NULL AND completed_at IS NOT NULL
      WHEN 'expired' THEN response_body IS NULL AND response_headers IS NULL AND request IS NULL AND expired_at IS NOT NULL
      ELSE response_status IS NULL AND response_body IS NULL AND completed_at IS NULL
    END) NOT VALID;

CREATE OR REPLACE FUNCTION open_contradictions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO discrepancies (id, kind, subject, record_id, detail)
  SELECT 'dis_' || replace(gen_random_uuid()::text, '-', ''), 'contradicting_evidence', NEW.id || ':' || (e.detail->>'ref'),
    NEW.id, jsonb_build_object('verdict', e.verdict, 'ref', e.detail->>'ref', 'source', e.source, 'state', NEW.state,
      'responseStatus', NEW.response_status, 'effectRef', NEW.effect_ref)
  FROM evidence e
  WHERE e.record_id = NEW.id AND e.verdict = 'succeeded' AND e.detail->>'ref' IS DISTINCT FROM NEW.effect_ref
  ON CONFLICT (kind, subject) DO NOTHING;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER records_contradicted AFTER UPDATE OF state ON idempotency_records FOR EACH ROW
  WHEN (OLD.state <> NEW.state AND NEW.state IN ('completed', 'expired') AND NEW.effect_evidence)
  EXECUTE FUNCTION open_contradictions();
