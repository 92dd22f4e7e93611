-- Appends to values, up to $5 bytes.
--   $1 hashes, $2 keys, $3 values, $4 expiries of new entries
{log}WITH near AS ({note $1})
INSERT INTO {table} AS t (hash, key, value, version, expires_at)
SELECT u.h, u.k, u.v, {clock}, {expiry}
FROM unnest($1::bigint[], $2::bytea[], $3::bytea[], $4::bigint[]) AS u (h, k, v, e)
ON CONFLICT (hash) DO UPDATE
SET key        = excluded.key,
    value      = CASE WHEN {live} THEN t.value || excluded.value ELSE excluded.value END,
    version    = greatest(t.version + 1, excluded.version),
    expires_at = CASE WHEN {live} THEN t.expires_at ELSE excluded.expires_at END,
    {fresh}
WHERE CASE WHEN {live}
           THEN octet_length(t.value) + octet_length(excluded.value) <= $5::bigint
           ELSE {writable} END
RETURNING hash, octet_length(value), version
