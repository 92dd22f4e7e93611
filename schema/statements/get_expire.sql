-- As expire, and answers the values (GETEX). A past expiry makes them expired,
-- which is all that a delete would do.
--   $1 hashes, $2 keys, $3 expiries, $4 conditions, the sum of
--   1: only without a TTL, 2: only with one, 4: only if later, 8: only if
--   sooner, 16: never shorten, and keep the version (a touch changes nothing
--   that a reader of the value sees)
WITH locked AS MATERIALIZED (
    SELECT t.hash, u.c, {exact_expiry} AS expires_at
    FROM unnest($1::bigint[], $2::bytea[], $3::bigint[], $4::integer[]) AS u (h, k, e, c)
    JOIN {table} AS t ON t.hash = u.h AND t.key = u.k
    WHERE t.expires_at > statement_timestamp()
      AND (u.c & 1 = 0 OR t.expires_at = 'infinity')
      AND (u.c & 2 = 0 OR t.expires_at < 'infinity')
      AND (u.c & 4 = 0 OR {exact_expiry} > t.expires_at)
      AND (u.c & 8 = 0 OR {exact_expiry} < t.expires_at)
    ORDER BY t.hash
    FOR UPDATE OF t
)
UPDATE {table} AS t
SET expires_at = CASE WHEN u.c & 16 = 0 THEN u.expires_at
                      ELSE greatest(t.expires_at, u.expires_at) END,
    version    = CASE WHEN u.c & 16 = 0 THEN greatest(t.version + 1, {clock})
                      ELSE t.version END
FROM locked AS u
WHERE t.hash = u.hash
RETURNING t.hash, t.value
