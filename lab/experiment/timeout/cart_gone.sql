SELECT state = 'cancelled'
FROM timeout.carts
WHERE cart = $1;
