-- What tells whether a cache can still hold what was stored in it: which database it is in,
-- which table it has, and, by the epoch, how often PostgreSQL crashed: UNLOGGED tables were
-- emptied, and those of class "async" have what was committed up to "flushed". The tables of
-- partitions are made and get other ids together.
--   $1 name
SELECT encode(sha256(m.seed || convert_to(d.oid::text || ' ' || d.datname::text, 'UTF8')), 'hex'),
       c.id::bigint,
       c.durability,
       howdah_internal._detect_reset(),
       (pg_catalog.pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::bigint,
       (pg_catalog.pg_current_wal_flush_lsn() - '0/0'::pg_lsn)::bigint,
       coalesce(c.max_bytes, 0)
FROM howdah.meta AS m
CROSS JOIN (
    SELECT min(p.id) AS id, min(p.durability) AS durability, sum(p.max_bytes)::bigint AS max_bytes
    FROM howdah_internal._partitions($1::text) AS p
    HAVING count(*) > 0) AS c
CROSS JOIN pg_catalog.pg_database AS d
WHERE d.datname = current_database()
