-- From now on an order is abandoned in the commit in which its key expires as proven not executed. Those whose keys
-- expired before are abandoned here: the tombstone has no answer, or is deleted, which only a tombstone can be.

SET lock_timeout = '5s';

UPDATE orders o SET status = 'abandoned' WHERE o.status = 'pending_payment' AND NOT EXISTS (
  SELECT FROM idempotency_records r WHERE r.id = o.record_id AND (r.state <> 'expired' OR r.response_status IS NOT NULL));

UPDATE refunds f SET status = 'abandoned' WHERE f.status = 'released' AND NOT EXISTS (
  SELECT FROM idempotency_records r WHERE r.id = f.record_id AND (r.state <> 'expired' OR r.response_status IS NOT NULL));
