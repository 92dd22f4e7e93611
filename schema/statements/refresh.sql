-- Wins the lease of live strings of one version, which nobody has. Their rows stay
-- as they are but for the lease; one that another transaction holds is left out. Each
-- row of the answer has a hash, and what the statement sees (see fulfil_tagged).
--   $1 hashes, $2 keys, $3 versions, $4 leases in microseconds
WITH locked AS MATERIALIZED (
    SELECT u.h, u.k, u.version, u.lease
    FROM unnest($1::bigint[], $2::bytea[], $3::bigint[], $4::bigint[]) AS u (h, k, version, lease)
    CROSS JOIN LATERAL (
        SELECT
        FROM {table} AS t
        WHERE t.hash = u.h
          AND t.key = u.k
          AND t.version = u.version
          AND t.kind = 0::smallint
          AND t.expires_at > statement_timestamp()
          AND t.leased_until <= statement_timestamp()
        FOR UPDATE SKIP LOCKED) AS t
)
INSERT INTO {table} AS t (hash, key, value, version, expires_at, leased_until)
SELECT l.h, l.k, '', l.version, '-infinity', statement_timestamp() + l.lease::float8 * interval '1 microsecond'
FROM locked AS l
ON CONFLICT (hash) DO UPDATE
SET leased_until = excluded.leased_until
RETURNING t.hash, (SELECT {snapshot})
