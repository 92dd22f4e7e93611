-- As delete, and answers what the entries held. What is no string stays, and is
-- answered with NULL.
--   $1 hashes, $2 keys
WITH locked AS MATERIALIZED (
    SELECT u.h, t.stays
{keys}         , u.k
    FROM unnest($1::bigint[], $2::bytea[]) AS u (h, k)
    CROSS JOIN LATERAL (
        SELECT t.kind <> 0::smallint AND t.expires_at > statement_timestamp() AS stays
        FROM {table} AS t
        WHERE t.hash = u.h
          AND t.key = u.k
          AND NOT (t.expires_at = '-infinity' AND t.leased_until = '-infinity' AND t.accessed > {this_minute})
        FOR UPDATE) AS t
), doomed AS (
    SELECT l.h
{keys}         , l.k
    FROM locked AS l WHERE NOT l.stays
), gone AS (
    DELETE FROM {table} AS t
    WHERE t.hash = ANY (ARRAY(SELECT d.h FROM doomed AS d))
    RETURNING t.hash, t.expires_at > statement_timestamp() AS live, t.value
{keys}            , t.expires_at > '-infinity' AS entry
)
{log}, near AS ({note_rows doomed.h doomed.k})
SELECT g.hash, g.live, g.value
{keys}     , g.entry
FROM gone AS g
UNION ALL
SELECT l.h, true, NULL
{keys}     , false
FROM locked AS l WHERE l.stays
