-- Copies an entry, with its expiry, to another key of its cache or of another.
-- The caller holds both rows.
--   $1 hash, $2 key of the source; $3 hash, $4 key of the target; $5: the
--   target's cache refuses to evict another live key (class sync)
{log}WITH near AS ({note_one $3 $4})
INSERT INTO {table} AS t (hash, key, value, version, expires_at, kind, stale_seconds)
SELECT $3::bigint, $4::bytea, s.value, {clock}, s.expires_at, s.kind, s.stale_seconds
FROM {source} AS s
WHERE s.hash = $1::bigint AND s.key = $2::bytea
ON CONFLICT (hash) DO UPDATE
SET key        = excluded.key,
    value      = excluded.value,
    version    = greatest(t.version + 1, excluded.version),
    expires_at = excluded.expires_at,
    {fresh}
WHERE NOT $5::boolean OR t.key = excluded.key OR t.expires_at <= statement_timestamp()
