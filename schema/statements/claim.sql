-- Reads entries, and tries to win the lease of those that have no live value. A
-- row with another key than the one that was asked for means that the slot is
-- taken; no row, that the cache is full, or that one appeared in the slot after
-- "found" had looked. The first row has no hash: it says when the server was
-- started, and, if a lease was won, what the statement sees (see fulfil_tagged).
--
-- An absent key is leased by a row that is absent to every other reader. A row that
-- is there keeps its version, which is the token of the lease: who had the lease
-- before may still store, as nothing was changed.
--   $1 hashes, $2 keys, $3 leases in microseconds, $4 grant none: the cache is full
WITH found AS MATERIALIZED (
    SELECT t.hash, t.key, t.value, t.version, t.kind, t.expires_at, t.leased_until, t.stale_seconds
    FROM {table} AS t
    WHERE t.hash = ANY ($1::bigint[])
      AND (t.expires_at > statement_timestamp() OR t.leased_until > statement_timestamp()
           OR $4::boolean AND t.expires_at > statement_timestamp() - t.stale_seconds::float8 * interval '1 second')
), won AS (
    INSERT INTO {table} AS t (hash, key, value, version, expires_at, leased_until)
    SELECT u.h, u.k, '', {token}, '-infinity', statement_timestamp() + u.lease::float8 * interval '1 microsecond'
    FROM unnest($1::bigint[], $2::bytea[], $3::bigint[]) AS u (h, k, lease)
    WHERE NOT $4 AND u.h NOT IN (SELECT f.hash FROM found AS f)
    ON CONFLICT (hash) DO UPDATE
    SET key           = excluded.key,
        value         = CASE WHEN t.key = excluded.key THEN t.value ELSE '' END,
        version       = CASE WHEN t.key = excluded.key THEN t.version
                             ELSE greatest(t.version + 1, excluded.version) END,
        expires_at    = CASE WHEN t.key = excluded.key THEN t.expires_at ELSE '-infinity' END,
        kind          = CASE WHEN t.key = excluded.key THEN t.kind ELSE excluded.kind END,
        stale_seconds = CASE WHEN t.key = excluded.key THEN greatest(t.stale_seconds, 0) ELSE 0 END,
        leased_until  = excluded.leased_until
    WHERE t.expires_at <= statement_timestamp() AND t.leased_until <= statement_timestamp()
    RETURNING t.hash, t.key, CASE WHEN t.stale_seconds > 0 THEN t.value END AS value, t.version, t.kind, t.expires_at, t.leased_until, t.stale_seconds
)
SELECT NULL::bigint, NULL::bytea, NULL::bytea, NULL::bigint, NULL::integer, NULL::timestamptz, NULL::timestamptz,
       NULL::integer, pg_catalog.pg_postmaster_start_time(), false,
       CASE WHEN EXISTS (SELECT FROM won) THEN {snapshot} END
UNION ALL
SELECT f.hash, f.key, f.value, f.version, f.kind::integer, f.expires_at, f.leased_until,
       f.stale_seconds, statement_timestamp(), false, NULL
FROM found AS f
UNION ALL
SELECT w.hash, w.key, w.value, w.version, w.kind::integer, w.expires_at, w.leased_until,
       w.stale_seconds, statement_timestamp(), true, NULL
FROM won AS w
