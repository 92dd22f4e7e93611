-- Adds to decimal numbers as Redis does on x86: operands and sum are rounded to
-- a long double, and the sum is written with 17 decimals at most. Where nothing was
-- written, the kind as the statement's snapshot shows it tells why.
--   $1 hashes, $2 keys, $3 deltas as text, $4 expiries of new entries
WITH u AS MATERIALIZED (
    SELECT i.h, i.k, {long_double i.d::numeric} AS d, i.e
    FROM unnest($1::bigint[], $2::bytea[], $3::text[], $4::bigint[]) AS i (h, k, d, e)
), put AS (
    INSERT INTO {table} AS t (hash, key, value, version, expires_at)
    SELECT u.h, u.k, convert_to({decimal u.d}, 'UTF8'::name), {clock}, {expiry}
    FROM u
    ON CONFLICT (hash) DO UPDATE
    SET key        = excluded.key,
        value      = CASE WHEN {live}
                          THEN (SELECT convert_to({decimal summed.s}, 'UTF8'::name)
                                FROM u
                                CROSS JOIN LATERAL (SELECT {long_double encode(t.value, 'escape')::numeric} + u.d OFFSET 0) AS added (s)
                                CROSS JOIN LATERAL (SELECT {long_double added.s} OFFSET 0) AS summed (s)
                                WHERE u.h = excluded.hash)
                          ELSE excluded.value END,
        version    = greatest(t.version + 1, excluded.version),
        expires_at = CASE WHEN {live} THEN t.expires_at ELSE excluded.expires_at END,
        {fresh}
    WHERE CASE WHEN {live}
               THEN t.kind = 0::smallint
                    AND octet_length(t.value) <= 350
                    AND encode(t.value, 'escape') ~ '^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]{1,3})?$'
               ELSE {writable} END
    RETURNING hash, value, version
)
{log}, near AS ({note $1 $2})
SELECT u.h, put.value, put.version, met.kind
FROM u
LEFT JOIN put ON put.hash = u.h
LEFT JOIN LATERAL ( -- OFFSET 0: it is looked up by the index for each row
    SELECT p.kind::integer AS kind
    FROM {table} AS p
    WHERE put.hash IS NULL AND p.hash = u.h AND p.key = u.k AND p.expires_at > statement_timestamp()
    OFFSET 0) AS met ON true
