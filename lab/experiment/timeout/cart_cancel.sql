UPDATE timeout.carts
SET state = 'cancelled'
WHERE cart = $1
  AND state = 'bought';
