TRUNCATE lab.charges, lab.seen_keys, lab.processor_charges RESTART IDENTITY;
