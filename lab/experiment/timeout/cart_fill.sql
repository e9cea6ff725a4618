INSERT INTO timeout.carts (cart)
VALUES ($1);
