-- What tells whether a cache can still hold what was stored in it: which database it is in,
-- which table it has (of its partitions, the first that was made), and, by the epoch, how
-- often PostgreSQL crashed: UNLOGGED tables were emptied, and those of class "async" have
-- what was committed up to "flushed".
--   $1 name
SELECT encode(sha256(m.seed || convert_to(d.oid::text || ' ' || d.datname::text, 'UTF8')), 'hex'),
       c.id::bigint,
       c.durability,
       howdah_internal._detect_reset(),
       (pg_catalog.pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::bigint,
       (pg_catalog.pg_current_wal_flush_lsn() - '0/0'::pg_lsn)::bigint,
       c.max_bytes
FROM howdah.meta AS m
CROSS JOIN (SELECT min(p.id) AS id, min(p.durability) AS durability, coalesce(sum(p.max_bytes), 0)::bigint AS max_bytes
            FROM howdah_internal.cache AS p
            WHERE coalesce(p.whole, p.name) = $1::text) AS c
CROSS JOIN pg_catalog.pg_database AS d
WHERE c.id IS NOT NULL
  AND d.datname = current_database()
