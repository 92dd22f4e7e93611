-- As fulfil, with tags, which replace those that the keys had. What has a tag that is
-- being invalidated, or was invalidated by a transaction that the snapshot of its claim
-- does not show, is not stored. Nor is, in a shard, what was claimed before the shard came
-- here: the snapshot then counts the transactions of another server.
--   $1 hashes, $2 keys, $3 values, $4 expiries, $5 tokens, $6 stale seconds,
--   $7 hashes again, $8 their tags and $9 the snapshots of their claims, one of each for
--   every tag of an entry; of a shard only, in $10 its placements at the claims, likewise
WITH refused AS MATERIALIZED (
    SELECT howdah_internal._refused({cache}, $7::bigint[], $8::bigint[], $9::text[]::pg_snapshot[], pg_catalog.pg_current_snapshot()) AS hashes
), locked AS MATERIALIZED (
    SELECT u.h, u.k, u.v, u.stale,
           greatest(t.version + 1, {clock}) AS version,
           {expiry} AS expires_at
    FROM refused AS r
    CROSS JOIN unnest($1::bigint[], $2::bytea[], $3::bytea[], $4::bigint[], $5::bigint[], $6::integer[])
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
    WHERE u.h <> ALL (r.hashes){and_unmoved}
)
{log}, near AS ({note_rows locked.h locked.k})
, put AS (
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
), tags AS MATERIALIZED (
    SELECT n.h, n.tag
    FROM unnest($7::bigint[], $8::bigint[]) AS n (h, tag)
    WHERE n.h IN (SELECT p.hash FROM put AS p)
), untagged AS (
    DELETE FROM {tags} AS g
    WHERE g.hash = ANY (ARRAY(SELECT p.hash FROM put AS p))
      AND (g.hash, g.tag) NOT IN (SELECT n.h, n.tag FROM tags AS n)
), tagged AS (
    -- As set_tagged.
    INSERT INTO {tags} AS g (hash, tag)
    SELECT n.h, n.tag FROM tags AS n
    ON CONFLICT (hash, tag) DO UPDATE SET tag = excluded.tag WHERE false
)
SELECT p.hash, p.version FROM put AS p
