-- Writes of absent keys only (NX). The filter in the source spares a row lock,
-- and with it a transaction id, when the key is there; the one after ON
-- CONFLICT is the one that decides.
--   $1 hashes, $2 keys, $3 values, $4 expiries, $5 kinds
{log}WITH put AS (
INSERT INTO {table} AS t (hash, key, value, version, expires_at, kind)
SELECT u.h, u.k, u.v, {clock}, {expiry}, u.kind::smallint
FROM unnest($1::bigint[], $2::bytea[], $3::bytea[], $4::bigint[], $5::integer[]) AS u (h, k, v, e, kind)
WHERE (SELECT p.key = u.k AND p.expires_at > statement_timestamp()
       FROM {table} AS p
       WHERE p.hash = u.h) IS NOT TRUE
ON CONFLICT (hash) DO UPDATE
SET key        = excluded.key,
    value      = excluded.value,
    version    = greatest(t.version + 1, excluded.version),
    expires_at = excluded.expires_at,
    {fresh}
WHERE {dead}
RETURNING hash, version
{keys}        , key
{log}), near AS ({note_rows put.hash put.key})
{log}SELECT hash, version FROM put
