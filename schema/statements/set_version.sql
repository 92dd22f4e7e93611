-- As set, and answers the new versions.
--   $1 hashes, $2 keys, $3 values, $4 expiries
{log}WITH near AS ({note $1 $2})
INSERT INTO {table} AS t (hash, key, value, version, expires_at)
SELECT u.h, u.k, u.v, {clock}, {expiry}
FROM unnest($1::bigint[], $2::bytea[], $3::bytea[], $4::bigint[]) AS u (h, k, v, e)
ON CONFLICT (hash) DO UPDATE
SET key        = excluded.key,
    value      = excluded.value,
    version    = greatest(t.version + 1, excluded.version),
    expires_at = excluded.expires_at,
    {fresh}
{where_writable}
RETURNING hash, version
