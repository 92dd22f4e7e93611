-- Whether no other program moves partitions; until the connection ends none does. The key is
-- "howdar" in ASCII.
SELECT pg_catalog.pg_try_advisory_lock(114827953725810)
