-- Writes of existing keys only (XX), of one version only (compare-and-set),
-- with or without a new expiry. Rows are found, locked and written as by expire.
--   $1 hashes, $2 keys, $3 values, $4 expiries, $5 keep the expiry,
--   $6 versions (NULL: any), $7 kinds
WITH locked AS MATERIALIZED (
    SELECT u.h, u.k, u.v, u.kind::smallint AS kind,
           greatest(t.version + 1, {clock}) AS version,
           CASE WHEN u.keep THEN t.expires_at ELSE {expiry} END AS expires_at
    FROM unnest($1::bigint[], $2::bytea[], $3::bytea[], $4::bigint[], $5::boolean[], $6::bigint[],
                $7::integer[])
         AS u (h, k, v, e, keep, version, kind)
    CROSS JOIN LATERAL (
        SELECT t.version, t.expires_at
        FROM {table} AS t
        WHERE t.hash = u.h
          AND t.key = u.k
          AND t.expires_at > statement_timestamp()
          AND (u.version IS NULL OR t.version = u.version)
        FOR UPDATE) AS t
)
{log}, near AS ({note_rows locked.h locked.k})
INSERT INTO {table} AS t (hash, key, value, version, expires_at, kind)
SELECT l.h, l.k, l.v, l.version, l.expires_at, l.kind
FROM locked AS l
ON CONFLICT (hash) DO UPDATE
SET value      = excluded.value,
    version    = excluded.version,
    expires_at = excluded.expires_at,
    {fresh}
RETURNING t.hash, t.version
