-- As replace, of one version each, and the entries keep their expiry: what an edit
-- stores. Nothing has to be worked out before a row is locked, so each is found, compared
-- and written in one pass, in the order of the arrays, which are sorted. The version to
-- compare with travels before the value. Where somebody has removed the row, an expired
-- one is left, which is absent to every reader, with a version that no entry has had.
--   $1 hashes, $2 keys, $3 values, $4 versions, $5 kinds
WITH put AS (
    INSERT INTO {table} AS t (hash, key, value, version, expires_at, kind)
    SELECT u.h, u.k, pg_catalog.int8send(u.version) || u.v, {clock}, '-infinity', u.kind::smallint
    FROM unnest($1::bigint[], $2::bytea[], $3::bytea[], $4::bigint[], $5::integer[])
         AS u (h, k, v, version, kind)
    ON CONFLICT (hash) DO UPDATE
    SET value   = substring(excluded.value FROM 9),
        version = greatest(t.version + 1, excluded.version),
        {fresh}
    WHERE {live} AND pg_catalog.int8send(t.version) = substring(excluded.value FROM 1 FOR 8)
    RETURNING hash, version, expires_at
{keys}            , key
), stored AS (
    SELECT p.hash, p.version
{keys}         , p.key
    FROM put AS p WHERE p.expires_at > '-infinity'
)
{log}, near AS ({note_rows stored.hash stored.key})
SELECT s.hash, s.version FROM stored AS s
