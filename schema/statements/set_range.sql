-- Overwrites one string from an offset, padding with zero bytes. Where nothing was
-- written, the last column is the kind of the entry, if it is no string.
--   $1 hash, $2 key, $3 value, $4 expiry of a new entry, $5 offset from 0
WITH put AS (
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
    WHERE CASE WHEN {live} THEN t.kind = 0::smallint ELSE {writable} END
    RETURNING hash, octet_length(value) AS length, version
)
{log}, near AS ({note_one $1 $2})
SELECT $1, put.length, put.version,
       (SELECT p.kind::integer
        FROM {table} AS p
        WHERE p.hash = $1 AND p.key = $2 AND p.expires_at > statement_timestamp() AND p.kind <> 0::smallint)
FROM (VALUES (true)) AS u (one)
LEFT JOIN put ON true
