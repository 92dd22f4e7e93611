-- Writes all of the keys if none of them is there (MSETNX). A key that appears
-- between the check and the write would leave half of them written: the
-- division by zero then undoes the statement, and the caller tries again.
--   $1 hashes, $2 keys, $3 values, $4 expiries
WITH u AS MATERIALIZED (
    SELECT * FROM unnest($1::bigint[], $2::bytea[], $3::bytea[], $4::bigint[]) AS u (h, k, v, e)
), put AS (
    INSERT INTO {table} AS t (hash, key, value, version, expires_at)
    SELECT u.h, u.k, u.v, {clock}, {expiry}
    FROM u
    WHERE NOT EXISTS (
        SELECT FROM u AS q
        WHERE (SELECT p.key = q.k AND p.expires_at > statement_timestamp()
               FROM {table} AS p
               WHERE p.hash = q.h))
    ON CONFLICT (hash) DO UPDATE
    SET key        = excluded.key,
        value      = excluded.value,
        version    = greatest(t.version + 1, excluded.version),
        expires_at = excluded.expires_at,
        {fresh}
    WHERE {dead}
    RETURNING hash
{keys}            , key
)
{log}, near AS ({note_rows put.hash put.key})
SELECT count(*) / (CASE WHEN count(*) IN (0, (SELECT count(*) FROM u)) THEN 1 ELSE 0 END)
FROM put
