-- As set, for one key: without arrays it costs a lone caller less, and so does
-- the clock without a subquery and the arithmetic of numeric. (A double is
-- exact to the microsecond until the year 2242.)
--   $1 hash, $2 key, $3 value, $4 expiry
{log}WITH near AS ({note_one $1 $2})
INSERT INTO {table} AS t (hash, key, value, version, expires_at)
SELECT u.h, u.k, u.v, (date_part('epoch', statement_timestamp()) * 1000000::float8)::bigint, {expiry}
FROM (VALUES ($1::bigint, $2::bytea, $3::bytea, $4::bigint)) AS u (h, k, v, e)
ON CONFLICT (hash) DO UPDATE
SET key        = excluded.key,
    value      = excluded.value,
    version    = greatest(t.version + 1, excluded.version),
    expires_at = excluded.expires_at,
    {fresh}
{where_writable}
