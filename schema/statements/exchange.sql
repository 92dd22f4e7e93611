-- One write that answers the value it met (SET ... GET). Nothing is written where
-- that is no string, or if a row appeared in the slot after "old" was read: the caller
-- sees that the condition held and no version came back, and tries again.
--   $1 hash, $2 key, $3 value, $4 expiry, $5 keep the expiry,
--   $6 condition: 0 always, 1 if absent, 2 if present, 3 if of version $7
WITH old AS MATERIALIZED (
    SELECT t.version, t.value, t.expires_at, t.kind,
           t.key = $2 AND t.expires_at > statement_timestamp() AS live,
           t.key <> $2 AND t.expires_at > statement_timestamp() AS foreign_live
    FROM {table} AS t
    WHERE t.hash = $1::bigint
    FOR UPDATE
), u AS (
    SELECT coalesce(bool_or(live), false) AS live,
           max(expires_at) FILTER (WHERE live) AS kept,
           max(version) AS version,
           coalesce(max(kind) FILTER (WHERE live), 0::smallint) AS kind,
           $4::bigint AS e
    FROM old
), put AS (
    INSERT INTO {table} AS t (hash, key, value, version, expires_at)
    SELECT $1, $2::bytea, $3::bytea, {clock},
           CASE WHEN $5::boolean AND u.live THEN u.kept ELSE {expiry} END
    FROM u
    WHERE u.kind = 0::smallint
      AND CASE $6::integer
              WHEN 0 THEN true
              WHEN 1 THEN NOT u.live
              WHEN 2 THEN u.live
              ELSE u.live AND u.version = $7::bigint
          END
    ON CONFLICT (hash) DO UPDATE
    SET key        = excluded.key,
        value      = excluded.value,
        version    = greatest(t.version + 1, excluded.version),
        expires_at = excluded.expires_at,
        {fresh}
    WHERE t.version = (SELECT u.version FROM u) {and_writable}
    RETURNING version
{log}            , hash
{keys}            , key
)
{log}, near AS ({note_rows put.hash put.key})
SELECT u.live,
       (SELECT value FROM old WHERE live AND kind = 0::smallint),
       (SELECT version FROM put),
       u.version,
       EXISTS (SELECT FROM old WHERE foreign_live)
FROM u
