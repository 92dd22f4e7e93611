-- Removes entries and answers what they held.
--   $1 hashes, $2 keys
WITH locked AS MATERIALIZED (
    SELECT t.hash
    FROM unnest($1::bigint[], $2::bytea[]) AS u (h, k)
    JOIN {table} AS t ON t.hash = u.h AND t.key = u.k
    ORDER BY t.hash
    FOR UPDATE OF t
)
DELETE FROM {table} AS t
USING locked
WHERE t.hash = locked.hash
RETURNING t.hash, t.expires_at > statement_timestamp(), t.value
