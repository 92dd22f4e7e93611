-- Transactions that were prepared, and how old they are in seconds.
SELECT gid, owner::text, database::text, extract(epoch FROM clock_timestamp() - prepared)::float8
FROM pg_prepared_xacts
