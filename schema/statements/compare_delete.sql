-- Removes live entries that have a version, or are strings of a value. The rows are found
-- and locked one by one, in the order of the arrays, which are sorted.
--   $1 hashes, $2 keys, $3 versions (NULL: any), $4 values (NULL: any)
WITH locked AS MATERIALIZED (
    SELECT u.h
{keys}         , u.k
    FROM unnest($1::bigint[], $2::bytea[], $3::bigint[], $4::bytea[]) AS u (h, k, version, value)
    CROSS JOIN LATERAL (
        SELECT
        FROM {table} AS t
        WHERE t.hash = u.h
          AND t.key = u.k
          AND t.expires_at > statement_timestamp()
          AND (u.version IS NULL OR t.version = u.version)
          AND (u.value IS NULL OR t.kind = 0::smallint AND t.value = u.value)
        FOR UPDATE) AS t
)
{log}, near AS ({note_rows locked.h locked.k})
DELETE FROM {table} AS t
WHERE t.hash = ANY (ARRAY(SELECT l.h FROM locked AS l))
RETURNING t.hash
