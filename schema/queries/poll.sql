-- What has changed in caches with a change log since a snapshot: a row without a
-- cache, or a row for each row of the log. All of it is of one snapshot, the new
-- one. What the older snapshot does not show is xid >= its xmax, and the xids in
-- its list: no transaction is missed or comes twice, and one that stays open holds
-- nothing back. More than 5,000 rows for one of the two conditions mean that there
-- may be more.
--   $1 xmax of the older snapshot ('0': there is none, no rows of the log)
--   $2 its list of transactions in progress
--   $3 whether keys are wanted. Where they are not, and where they are too many, they are
--   an empty array; NULL if the log of the cache has none
SELECT pg_catalog.pg_current_snapshot()::text,
       -- As the statement get_near answers it.
       (extract(epoch FROM pg_catalog.pg_postmaster_start_time()) * 1000000::numeric)::bigint,
       s.incarnation,
       coalesce(s.tick, 0),
       coalesce(s.floor, 0),
       -- A transaction that was prepared before the log was emptied: it may have
       -- changed entries that are on the disk, and its rows here are lost.
       coalesce(EXISTS (
           SELECT FROM pg_catalog.pg_prepared_xact() AS p
           WHERE p.dbid = (SELECT d.oid FROM pg_catalog.pg_database AS d WHERE d.datname = pg_catalog.current_database())
             AND pg_catalog.age(p.transaction) > pg_catalog.age(s.lit_xid::xid)), false),
       l.cache,
       l.hashes,
       l.xid,
       CASE WHEN $3::boolean OR l.keys IS NULL THEN l.keys ELSE '{}' END,
       l.origin
FROM (SELECT) AS one
LEFT JOIN howdah_internal.change_state AS s ON true
LEFT JOIN LATERAL (
    -- A row from the future was restored with a dump of another server.
    (SELECT c.cache, c.hashes, c.xid, c.keys, c.origin FROM howdah_internal.change AS c
     WHERE c.xid >= $1::text::xid8 AND $1::text <> '0'
       AND c.xid < pg_catalog.pg_snapshot_xmax(pg_catalog.pg_current_snapshot())
     ORDER BY c.xid LIMIT 5001)
    UNION ALL
    (SELECT c.cache, c.hashes, c.xid, c.keys, c.origin FROM howdah_internal.change AS c
     WHERE c.xid = ANY ($2::text[]::xid8[])
     LIMIT 5001)
) AS l ON true
