-- Tries to sign in are counted for an address and a source network, or a browser that signed in before: the hash is of both.
-- What was counted so far is fifteen minutes old at most, and is forgotten.

SET lock_timeout = '5s';

TRUNCATE sign_in_failures;
ALTER TABLE sign_in_failures RENAME COLUMN email_hash TO bucket;
