-- Removes entries, expired ones too, and says which were live. The rows are
-- found and locked one by one, in the order of the arrays, which are sorted. The row
-- of an absent key whose version is watched stays: nothing of it changes.
--   $1 hashes, $2 keys
WITH locked AS MATERIALIZED (
    SELECT u.h
{keys}         , u.k
    FROM unnest($1::bigint[], $2::bytea[]) AS u (h, k)
    CROSS JOIN LATERAL (
        SELECT
        FROM {table} AS t
        WHERE t.hash = u.h
          AND t.key = u.k
          AND NOT (t.expires_at = '-infinity' AND t.leased_until = '-infinity' AND t.accessed > {this_minute})
        FOR UPDATE) AS t
)
{log}, near AS ({note_rows locked.h locked.k})
DELETE FROM {table} AS t
WHERE t.hash = ANY (ARRAY(SELECT l.h FROM locked AS l))
RETURNING t.hash, t.expires_at > statement_timestamp()
{keys}        , t.expires_at > '-infinity'
