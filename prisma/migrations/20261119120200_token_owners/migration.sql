-- A token belongs to a person and ends with them: with the one who made it, or whom an admin handed it to. A token that was
-- made with the environment's token belongs to nobody and ends by being revoked only; one that was made with another token
-- belongs to whom that one belongs.

SET lock_timeout = '5s';

ALTER TABLE operator_tokens ADD COLUMN owner_id TEXT;

-- CreateIndex
CREATE INDEX "operator_tokens_owner_id_idx" ON "operator_tokens"("owner_id");


-- By hand -------------------------------------------------------------------------------------------------------

WITH RECURSIVE made AS (
  SELECT id, created_by AS by FROM operator_tokens
  UNION SELECT made.id, t.created_by FROM made JOIN operator_tokens t ON t.id = made.by
)
UPDATE operator_tokens t SET owner_id = made.by FROM made WHERE made.id = t.id AND made.by LIKE 'opr\_%';

-- Whose people are gone already.
UPDATE operator_tokens t SET revoked_at = clock_timestamp()
WHERE revoked_at IS NULL AND owner_id IS NOT NULL
  AND NOT EXISTS (SELECT FROM operators o WHERE o.id = t.owner_id AND o.disabled_at IS NULL);

CREATE FUNCTION end_operator_tokens() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE public.operator_tokens SET revoked_at = clock_timestamp() WHERE owner_id = OLD.id AND revoked_at IS NULL;
  RETURN coalesce(NEW, OLD);
END $$;

CREATE TRIGGER operators_disabled_tokens BEFORE UPDATE OF disabled_at ON operators FOR EACH ROW
  WHEN (OLD.disabled_at IS NULL AND NEW.disabled_at IS NOT NULL)
  EXECUTE FUNCTION end_operator_tokens();
CREATE TRIGGER operators_deleted_tokens BEFORE DELETE ON operators FOR EACH ROW EXECUTE FUNCTION end_operator_tokens();
