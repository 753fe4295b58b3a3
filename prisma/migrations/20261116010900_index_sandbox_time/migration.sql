-- The same question to the sandbox provider: what did it book in this window?
-- Alone in its migration: CONCURRENTLY, which lets live traffic write meanwhile, can't share a transaction.
CREATE INDEX CONCURRENTLY charges_booked_at ON sandbox.charges (booked_at);
