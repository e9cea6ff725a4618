-- Reports whether the standby has become a primary within so many seconds.
SELECT pg_promote(true, $1::double precision::integer);
