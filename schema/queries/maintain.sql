-- A round of upkeep. What is left out is NULL or 0, and the default of
-- howdah.maintain.
--   $1 cache, $2 rows, $3 blocks, $4 time, $5 lag (not positive: any)
SELECT name, expired, evicted, bytes, blocks, milliseconds, coalesce(entries, 0), coalesce(size, 0), more, held_back
FROM howdah.maintain(nullif($1::text, ''), coalesce(nullif($2::integer, 0), 20000),
                     coalesce(nullif($3::integer, 0), 8192), coalesce($4::interval, '50 milliseconds'),
                     CASE WHEN $5::bigint > 0 THEN $5::bigint END)
