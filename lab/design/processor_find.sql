SELECT id
FROM lab.processor_charges
WHERE downstream_key = $1;
