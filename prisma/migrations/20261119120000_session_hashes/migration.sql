-- Sessions are stored by a hash of their token: who reads the database, or a backup of it, is not signed in by that. Tokens
-- that were stored in clear are gone, so everybody signs in again.

SET lock_timeout = '5s';

DELETE FROM operator_sessions;
ALTER TABLE operator_sessions ADD CONSTRAINT operator_sessions_token_hashed CHECK (token ~ '^[0-9a-f]{64}$');
