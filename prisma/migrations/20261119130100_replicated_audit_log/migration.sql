-- Logical replication: a whole database can be published and subscribed to, which is how a major version of PostgreSQL is
-- changed with a short pause. The worker that applies what is replicated has no search_path and is a replica. The triggers
-- of the audit log fire there too, so they name their tables in full, take entries as they were written elsewhere if hash
-- and chain are right, and refuse all others.

SET lock_timeout = '5s';

-- In a database that is written to: the chain is made here, whoever inserts. In one that is replicated to: the row is kept
-- as it comes, and has to be what its hash was made of.
CREATE OR REPLACE FUNCTION chain_audit_entry() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('session_replication_role') = 'replica' THEN
    IF NEW.hash IS DISTINCT FROM sha256(NEW.previous_hash || convert_to(public.audit_content(NEW), 'UTF8')) THEN
      RAISE EXCEPTION 'the audit log is append-only: entry % is not what its hash was made of', NEW.seq
        USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
  END IF;
  SELECT h.seq + 1, h.hash INTO NEW.seq, NEW.previous_hash FROM public.audit_head h FOR UPDATE;
  IF NEW.seq IS NULL THEN
    RAISE EXCEPTION 'the audit log has no head' USING ERRCODE = 'check_violation';
  END IF;
  NEW.at := date_trunc('milliseconds', clock_timestamp());
  NEW.hash := sha256(NEW.previous_hash || convert_to(public.audit_content(NEW), 'UTF8'));
  UPDATE public.audit_head SET seq = NEW.seq, hash = NEW.hash;
  RETURN NEW;
END $$;

-- At the commit of what was replicated, since the first copy of a table need not come in its order: each entry follows the
-- one before it, and the last one is the head.
CREATE FUNCTION link_audit_entry() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.previous_hash IS DISTINCT FROM (CASE WHEN NEW.seq = 1 THEN decode(repeat('00', 32), 'hex')
    ELSE (SELECT e.hash FROM public.audit_entries e WHERE e.seq = NEW.seq - 1) END) THEN
    RAISE EXCEPTION 'the audit log is append-only: entry % does not follow the one before it', NEW.seq
      USING ERRCODE = 'check_violation';
  END IF;
  IF NOT EXISTS (SELECT FROM public.audit_entries e WHERE e.seq = NEW.seq + 1) THEN
    UPDATE public.audit_head SET seq = NEW.seq, hash = NEW.hash;
    IF NOT FOUND THEN
      INSERT INTO public.audit_head (seq, hash) VALUES (NEW.seq, NEW.hash);
    END IF;
  END IF;
  RETURN NULL;
END $$;

CREATE CONSTRAINT TRIGGER audit_links AFTER INSERT ON audit_entries DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN (current_setting('session_replication_role') = 'replica') EXECUTE FUNCTION link_audit_entry();
ALTER TABLE audit_entries ENABLE ALWAYS TRIGGER audit_links;

-- The head moves only from within the two functions above. What is replicated of it is left out: where entries come from
-- elsewhere it follows them. A log without an entry has the head that it began with.
CREATE FUNCTION move_audit_head() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('session_replication_role') <> 'replica' THEN
    RAISE EXCEPTION 'the audit log is append-only: % of % is refused', TG_OP, TG_TABLE_NAME USING ERRCODE = 'check_violation';
  END IF;
  IF TG_OP = 'INSERT' AND NEW.seq = 0 AND NEW.hash = decode(repeat('00', 32), 'hex')
    AND NOT EXISTS (SELECT FROM public.audit_head) AND NOT EXISTS (SELECT FROM public.audit_entries) THEN
    RETURN NEW;
  END IF;
  RETURN NULL;
END $$;

DROP TRIGGER audit_head_moves ON audit_head;
DROP TRIGGER audit_head_stays ON audit_head;
CREATE TRIGGER audit_head_moves BEFORE INSERT OR UPDATE ON audit_head FOR EACH ROW WHEN (pg_trigger_depth() = 0)
  EXECUTE FUNCTION move_audit_head();
CREATE TRIGGER audit_head_stays BEFORE DELETE ON audit_head FOR EACH ROW EXECUTE FUNCTION refuse_audit_change();
ALTER TABLE audit_head ENABLE ALWAYS TRIGGER audit_head_moves;
ALTER TABLE audit_head ENABLE ALWAYS TRIGGER audit_head_stays;

-- Functions of triggers that are not asked where rows are replicated, but by whoever connects without a search_path.
ALTER FUNCTION keep_an_admin() SET search_path = pg_catalog, public, pg_temp;
ALTER FUNCTION end_operator_sessions() SET search_path = pg_catalog, public, pg_temp;
