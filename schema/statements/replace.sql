-- Writes of existing keys only (XX), of one version only (compare-and-set),
-- with or without a new expiry.
--   $1 hashes, $2 keys, $3 values, $4 expiries, $5 keep the expiry,
--   $6 versions (NULL: any)
WITH locked AS MATERIALIZED (
    SELECT t.hash, u.v, u.e, u.keep
    FROM unnest($1::bigint[], $2::bytea[], $3::bytea[], $4::bigint[], $5::boolean[], $6::bigint[])
         AS u (h, k, v, e, keep, version)
    JOIN {table} AS t ON t.hash = u.h AND t.key = u.k
    WHERE t.expires_at > statement_timestamp()
      AND (u.version IS NULL OR t.version = u.version)
    ORDER BY t.hash
    FOR UPDATE OF t
)
UPDATE {table} AS t
SET value      = u.v,
    version    = greatest(t.version + 1, {clock}),
    expires_at = CASE WHEN u.keep THEN t.expires_at ELSE {expiry} END
FROM locked AS u
WHERE t.hash = u.hash
RETURNING t.hash, t.version
