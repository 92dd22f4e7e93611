-- Overwrites one value from an offset, padding with zero bytes.
--   $1 hash, $2 key, $3 value, $4 expiry of a new entry, $5 offset from 0
{log}WITH near AS ({note_one $1})
INSERT INTO {table} AS t (hash, key, value, version, expires_at)
SELECT $1::bigint, $2::bytea, decode(repeat('00', $5::integer), 'hex') || $3::bytea, {clock}, {expiry}
FROM (SELECT $4::bigint AS e) AS u
ON CONFLICT (hash) DO UPDATE
SET key        = excluded.key,
    value      = CASE WHEN NOT ({live}) THEN excluded.value
                      WHEN octet_length(t.value) < $5
                      THEN t.value || decode(repeat('00', $5 - octet_length(t.value)), 'hex') || $3
                      ELSE overlay(t.value PLACING $3 FROM $5 + 1) END,
    version    = greatest(t.version + 1, excluded.version),
    expires_at = CASE WHEN {live} THEN t.expires_at ELSE excluded.expires_at END,
    {fresh}
{where_writable}
RETURNING hash, octet_length(value), version
