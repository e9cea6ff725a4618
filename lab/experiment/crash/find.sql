-- What an operator sees of a payment in the processor's books.
SELECT id
FROM processor.operations
WHERE kind = 'charge'
  AND status = 'succeeded'
  AND reference = $1;
