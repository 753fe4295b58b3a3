-- How often an actor was refused an action in a minute. The audit log has one entry for it, written at the first refusal;
-- the count stands here, since an entry never changes.

SET lock_timeout = '5s';

CREATE TABLE "audit_refusals" (
    "actor_id" TEXT NOT NULL,
    "action" TEXT NOT NULL,
    "minute" TEXT NOT NULL,
    "count" INTEGER NOT NULL,

    CONSTRAINT "audit_refusals_pkey" PRIMARY KEY ("actor_id","action","minute")
);


-- By hand -------------------------------------------------------------------------------------------------------

-- A count only rises, whoever writes.
CREATE TRIGGER audit_refusals_rise BEFORE UPDATE ON audit_refusals FOR EACH ROW
  WHEN ((NEW.actor_id, NEW.action, NEW.minute) IS DISTINCT FROM (OLD.actor_id, OLD.action, OLD.minute) OR NEW.count <= OLD.count)
  EXECUTE FUNCTION refuse_audit_change();
CREATE TRIGGER audit_refusals_stay BEFORE DELETE ON audit_refusals FOR EACH ROW EXECUTE FUNCTION refuse_audit_change();
CREATE TRIGGER audit_refusals_no_truncate BEFORE TRUNCATE ON audit_refusals FOR EACH STATEMENT
  EXECUTE FUNCTION refuse_audit_change();
ALTER TABLE audit_refusals ENABLE ALWAYS TRIGGER audit_refusals_rise;
ALTER TABLE audit_refusals ENABLE ALWAYS TRIGGER audit_refusals_stay;
ALTER TABLE audit_refusals ENABLE ALWAYS TRIGGER audit_refusals_no_truncate;
