-- Writes of entries with tags, which replace those that the keys had. What has a tag
-- that is being invalidated, or was invalidated since this statement began, is not
-- stored, for its value may be older: its row of the answer has no version.
--   $1 hashes, $2 keys, $3 values, $4 expiries,
--   $5 hashes again and $6 their tags, one of each for every tag of an entry
WITH refused AS MATERIALIZED (
    SELECT howdah_internal._refused({cache}, $5::bigint[], $6::bigint[], NULL::pg_snapshot[], pg_catalog.pg_current_snapshot()) AS hashes
), put AS (
    INSERT INTO {table} AS t (hash, key, value, version, expires_at)
    SELECT u.h, u.k, u.v, {clock}, {expiry}
    FROM refused AS r
    CROSS JOIN unnest($1::bigint[], $2::bytea[], $3::bytea[], $4::bigint[]) AS u (h, k, v, e)
    WHERE u.h <> ALL (r.hashes)
    ON CONFLICT (hash) DO UPDATE
    SET key        = excluded.key,
        value      = excluded.value,
        version    = greatest(t.version + 1, excluded.version),
        expires_at = excluded.expires_at,
        {fresh}
    {where_writable}
    RETURNING t.hash, t.version
{keys}            , t.key
)
{log}, near AS ({note_rows put.hash put.key})
, tags AS MATERIALIZED (
    SELECT n.h, n.tag
    FROM unnest($5::bigint[], $6::bigint[]) AS n (h, tag)
    WHERE n.h IN (SELECT p.hash FROM put AS p)
), untagged AS (
    DELETE FROM {tags} AS g
    WHERE g.hash = ANY (ARRAY(SELECT p.hash FROM put AS p))
      AND (g.hash, g.tag) NOT IN (SELECT n.h, n.tag FROM tags AS n)
), tagged AS (
    -- A row that is there is locked as it is, so that the sweep, which may just have
    -- found it without an entry, leaves it.
    INSERT INTO {tags} AS g (hash, tag)
    SELECT n.h, n.tag FROM tags AS n
    ON CONFLICT (hash, tag) DO UPDATE SET tag = excluded.tag WHERE false
)
SELECT p.hash, p.version FROM put AS p
UNION ALL
SELECT h.hash, NULL FROM refused AS r CROSS JOIN unnest(r.hashes) AS h (hash)
