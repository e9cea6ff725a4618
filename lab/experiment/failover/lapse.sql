-- Moves the time past the end of every claim that is not finished.

UPDATE lab.claims
SET claimed_at = claimed_at - interval '1 day'
WHERE status = 'pending';

UPDATE idem.keys
SET locked_until = statement_timestamp() - interval '1 second'
WHERE status = 'in_flight';
