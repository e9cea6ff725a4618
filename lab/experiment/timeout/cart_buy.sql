-- No row comes back for a cart that cannot be bought, or not any more.
UPDATE timeout.carts
SET state = 'bought'
WHERE cart = $1
  AND state = 'open'
RETURNING cart;
