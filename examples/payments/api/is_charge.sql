SELECT EXISTS (
    SELECT
    FROM shop.charges
    WHERE tenant_id = $1
      AND id = $2
      AND refund_of IS NULL
);
