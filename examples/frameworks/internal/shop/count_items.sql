SELECT count(*)
FROM shop.items
WHERE tenant_id = $1
  AND order_id = $2;
