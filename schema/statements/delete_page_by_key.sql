-- Deletes what has a prefix, from the next 5,000 keys by the prefix index, and answers
-- where to go on, NULL at the end, and how many live entries went, and their keys. A page ends
-- with all rows of its last place, so that none of them is skipped. It joins
-- nothing and finds before it sorts: a plan that was made while the cache was
-- empty must not go through all of it for each row.
--   $1 place to begin with, $2 last place, $3 prefix, $4 whether the keys are wanted
WITH page AS MATERIALIZED (
    SELECT (
        SELECT substring(t.key FROM 1 FOR 1024) FROM {table} AS t
        WHERE substring(t.key FROM 1 FOR 1024) BETWEEN $1::bytea AND $2::bytea
        ORDER BY substring(t.key FROM 1 FOR 1024) OFFSET 4999 LIMIT 1
    ) AS last
), found AS MATERIALIZED (
    SELECT t.hash FROM {table} AS t
    WHERE substring(t.key FROM 1 FOR 1024) BETWEEN $1 AND (SELECT coalesce(last, $2) FROM page)
      AND substring(t.key FROM 1 FOR octet_length($3::bytea)) = $3
), locked AS MATERIALIZED (
    SELECT t.hash
{keys}         , t.key
    FROM {table} AS t
    WHERE t.hash = ANY (ARRAY(SELECT hash FROM found))
      AND substring(t.key FROM 1 FOR octet_length($3)) = $3
    ORDER BY t.hash
    FOR UPDATE
), gone AS (
    DELETE FROM {table} AS t
    WHERE t.hash = ANY (ARRAY(SELECT hash FROM locked))
    RETURNING t.key, t.expires_at > statement_timestamp() AS live
)
{log}, near AS ({note_rows locked.hash locked.key})
SELECT (SELECT last || '\x00'::bytea FROM page WHERE last < $2), count(*) FILTER (WHERE live), pg_catalog.array_agg(key) FILTER (WHERE live AND $4::boolean)
FROM gone
