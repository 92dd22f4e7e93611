-- Messages that a snapshot does not show, or one row without any. All of it is of one
-- snapshot, the new one; the query "poll" says why none is missed or comes twice. Rows
-- are in the order of their transactions, which is that of each sender. If there are as
-- many as $6, there may be more: they are asked for with that snapshot as $7.
--   $1 xmax of the older snapshot ('0': there is none, no messages)
--   $2 its list of transactions in progress
--   $3, $4 the last row that has been read of what $7 shows
--   $5 the reader, whose own rows are left out
--   $6 how many rows at most
--   $7 nothing that this snapshot does not show ('': any)
SELECT pg_catalog.pg_current_snapshot()::text, s.incarnation::text, l.xid, l.id, l.kinds, l.channels, l.payloads
FROM (SELECT) AS one
LEFT JOIN howdah_internal.change_state AS s ON true
LEFT JOIN LATERAL (
    SELECT u.* FROM (
        (SELECT b.xid, b.id, b.kinds, b.channels, b.payloads
         FROM unnest($2::text[]::xid8[]) AS late (xid)
         CROSS JOIN LATERAL (
             SELECT r.xid, r.id, r.kinds, r.channels, r.payloads FROM howdah_internal.bus AS r
             WHERE r.xid = late.xid AND r.sender <> $5::bigint
               AND r.id > CASE WHEN late.xid = $3::text::xid8 THEN $4::bigint ELSE 0 END
             ORDER BY r.id LIMIT $6::integer) AS b
         WHERE late.xid >= $3::text::xid8
           AND CASE WHEN $7::text <> '' THEN pg_catalog.pg_visible_in_snapshot(late.xid, $7::text::pg_snapshot) ELSE true END)
        UNION ALL
        -- One lower bound: of two, PostgreSQL may begin its search at the wrong one. A row
        -- from the future was restored with a dump of another server.
        (SELECT b.xid, b.id, b.kinds, b.channels, b.payloads FROM howdah_internal.bus AS b
         WHERE (b.xid, b.id) > (greatest($1::text::xid8, $3::text::xid8),
                                CASE WHEN $3::text::xid8 >= $1::text::xid8 THEN $4::bigint ELSE 0 END)
           AND $1::text <> '0' AND b.sender <> $5::bigint
           AND b.xid < pg_catalog.pg_snapshot_xmax(pg_catalog.pg_current_snapshot())
           AND CASE WHEN $7::text <> '' THEN pg_catalog.pg_visible_in_snapshot(b.xid, $7::text::pg_snapshot) ELSE true END
         ORDER BY b.xid, b.id LIMIT $6::integer)) AS u
    ORDER BY u.xid, u.id LIMIT $6::integer
) AS l ON true
ORDER BY l.xid, l.id
