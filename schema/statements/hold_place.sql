-- As here.sql, in REPEATABLE READ, for all caches. The snapshot of the transaction may be
-- older than the lock: the caller then asks present.sql on another connection.
--   $1 shard
--   $2 number of its partition
SELECT pg_catalog.set_config('howdah.held', $2::smallint::text, true), howdah_internal._here($1::bigint)
