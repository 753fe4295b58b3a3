-- An entry is reversed once. Partial, so that an ordinary booking does not pay for it.
CREATE UNIQUE INDEX CONCURRENTLY ledger_entries_reversal_of_key ON ledger_entries (reversal_of) WHERE reversal_of IS NOT NULL;
