-- Versions of keys, from which their reader can tell later whether they have
-- changed. Absence has a version too: that of an expired row, which is absent to
-- every other reader. Whatever stores the key gives its row a greater version, and
-- what then removes it removes the row, whose version does not come back. Upkeep
-- leaves such a row until the minute in "accessed": for ten minutes at least.
--
-- Several readers share a row. A second one finds it, and prolongs its time at most
-- once a minute. The version is by the running clock: a row that was made by a
-- statement which began earlier, but is removed again, must not have it. A row of
-- another key means that the slot is taken; no row, that one appeared in it after
-- "found" had looked. An entry that has expired and gives its row to the absent key is
-- answered as such, to one reader: it may publish that.
--   $1 hashes, $2 keys
WITH found AS MATERIALIZED (
    SELECT t.hash, t.key, t.version, t.expires_at > statement_timestamp() AS live,
           t.expires_at > statement_timestamp() OR t.accessed > {this_minute} + 10 AND NOT {entry} AS kept
    FROM {table} AS t
    WHERE t.hash = ANY ($1::bigint[])
), locked AS MATERIALIZED (
    SELECT u.h, e.entry
    FROM unnest($1::bigint[], $2::bytea[]) AS u (h, k)
    CROSS JOIN LATERAL (
        SELECT {entry} AS entry
        FROM {table} AS t
        WHERE t.hash = u.h
          AND t.key = u.k
          AND t.expires_at <= statement_timestamp()
          AND (t.accessed <= {this_minute} + 10 OR {entry})
        FOR UPDATE) AS e
), made AS (
    INSERT INTO {table} AS t (hash, key, value, version, expires_at, accessed)
    SELECT u.h, u.k, '', (extract(epoch FROM clock_timestamp()) * 1000000::numeric)::bigint, '-infinity', {this_minute} + 11
    FROM unnest($1::bigint[], $2::bytea[]) AS u (h, k)
    WHERE NOT EXISTS (SELECT FROM found AS f WHERE f.hash = u.h AND (f.kept OR f.key <> u.k))
      AND (SELECT count(*) FROM locked AS l) >= 0  -- they are locked first
    ON CONFLICT (hash) DO UPDATE
    SET accessed = excluded.accessed,
        -- What has expired and serves nobody becomes such a row, which a removal leaves.
        expires_at = CASE
            WHEN t.stale_seconds = 0 AND t.leased_until = '-infinity' THEN excluded.expires_at
            ELSE t.expires_at
        END
    WHERE t.key = excluded.key AND t.expires_at <= statement_timestamp()
    RETURNING t.hash, t.key, t.version
)
SELECT f.hash, f.key, f.version, f.live, false FROM found AS f
UNION ALL
SELECT m.hash, m.key, m.version, false, coalesce(l.entry, false)
FROM made AS m
LEFT JOIN locked AS l ON l.h = m.hash
