-- Sets the expiry of live entries. An expiry that is past makes them expired,
-- which is all that a delete would do. The rows are found and locked one by
-- one, in the order of the arrays, which are sorted; what is written to them
-- then goes by the unique index too, so that no plan reads the whole table.
--   $1 hashes, $2 keys, $3 expiries, $4 conditions, the sum of
--   1: only without a TTL, 2: only with one, 4: only if later, 8: only if
--   sooner, 16: never shorten, and keep the version (a touch changes nothing
--   that a reader of the value sees)
WITH locked AS MATERIALIZED (
    SELECT u.h, u.k,
{log}           u.c,
           CASE WHEN u.c & 16 = 0 THEN greatest(t.version + 1, {clock})
                ELSE t.version END AS version,
           CASE WHEN u.c & 16 = 0 THEN {exact_expiry}
                ELSE greatest(t.expires_at, {exact_expiry}) END AS expires_at
    FROM unnest($1::bigint[], $2::bytea[], $3::bigint[], $4::integer[]) AS u (h, k, e, c)
    CROSS JOIN LATERAL (
        SELECT t.version, t.expires_at
        FROM {table} AS t
        WHERE t.hash = u.h
          AND t.key = u.k
          AND t.expires_at > statement_timestamp()
          AND (u.c & 1 = 0 OR t.expires_at = 'infinity')
          AND (u.c & 2 = 0 OR t.expires_at < 'infinity')
          AND (u.c & 4 = 0 OR {exact_expiry} > t.expires_at)
          AND (u.c & 8 = 0 OR {exact_expiry} < t.expires_at)
        FOR UPDATE) AS t
)
{log}, changed AS (SELECT l.h, l.k FROM locked AS l WHERE l.c & 16 = 0)
{log}, near AS ({note_rows changed.h changed.k})
INSERT INTO {table} AS t (hash, key, value, version, expires_at)
SELECT l.h, l.k, '', l.version, l.expires_at
FROM locked AS l
ON CONFLICT (hash) DO UPDATE
SET version       = excluded.version,
    expires_at    = excluded.expires_at,
    -- What is made to expire is not served stale, and a new version ends a lease.
    stale_seconds = CASE WHEN excluded.expires_at > statement_timestamp() THEN t.stale_seconds ELSE 0 END,
    leased_until  = CASE WHEN t.version = excluded.version THEN t.leased_until ELSE '-infinity' END
RETURNING t.hash
