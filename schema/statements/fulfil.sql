-- Stores what was loaded under leases, where the rows still have the versions that
-- the leases were won with. What ends a load's right to store (a write, a removal,
-- an invalidation) changes or removes the row, or, of the row of an absent key whose
-- version is watched, takes the lease away.
--   $1 hashes, $2 keys, $3 values, $4 expiries, $5 tokens, $6 for how many seconds
--   after its expiry each may be served; -1: there was no value, which is known
--   until the expiry
WITH locked AS MATERIALIZED (
    SELECT u.h, u.k, u.v, u.stale,
           greatest(t.version + 1, {clock}) AS version,
           {expiry} AS expires_at
    FROM unnest($1::bigint[], $2::bytea[], $3::bytea[], $4::bigint[], $5::bigint[], $6::integer[])
         AS u (h, k, v, e, token, stale)
    CROSS JOIN LATERAL (
        SELECT t.version
        FROM {table} AS t
        WHERE t.hash = u.h
          AND t.key = u.k
          AND t.version = u.token
          AND (t.kind = 0::smallint OR t.expires_at <= statement_timestamp())
          AND (t.expires_at > '-infinity' OR t.leased_until > '-infinity')
        FOR UPDATE) AS t
)
{log}, near AS ({note_rows locked.h locked.k})
INSERT INTO {table} AS t (hash, key, value, version, expires_at, leased_until, stale_seconds)
SELECT l.h, l.k, CASE WHEN l.stale < 0 THEN '' ELSE l.v END, l.version,
       CASE WHEN l.stale < 0 THEN '-infinity' ELSE l.expires_at END,
       CASE WHEN l.stale < 0 THEN l.expires_at ELSE '-infinity' END,
       l.stale
FROM locked AS l
ON CONFLICT (hash) DO UPDATE
SET value      = excluded.value,
    version    = excluded.version,
    expires_at = excluded.expires_at,
    {fresh}
RETURNING t.hash, t.version
