TRUNCATE lab.charges, lab.seen_keys, lab.processor_charges RESTART IDENTITY;

-- The tables of the example's programs, where these have run.
DO $$
BEGIN
    IF to_regclass('processor.operations') IS NOT NULL THEN
        TRUNCATE processor.operations;
    END IF;
    IF to_regclass('shop.orders') IS NOT NULL THEN
        TRUNCATE shop.orders, shop.charges, shop.seen_keys;
    END IF;
END
$$;
