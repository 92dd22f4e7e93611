-- Adds to decimal integers of 64 bits, beginning at zero. The sum is made from
-- the row as it is when it is locked. Where nothing was written, value and kind as
-- the statement's snapshot shows them tell why.
--   $1 hashes, $2 keys, $3 deltas, $4 expiries of new entries
WITH u AS MATERIALIZED (
    SELECT * FROM unnest($1::bigint[], $2::bytea[], $3::bigint[], $4::bigint[]) AS u (h, k, d, e)
), put AS (
    INSERT INTO {table} AS t (hash, key, value, version, expires_at)
    SELECT u.h, u.k, convert_to(u.d::text, 'UTF8'::name), {clock}, {expiry}
    FROM u
    ON CONFLICT (hash) DO UPDATE
    SET key        = excluded.key,
        value      = CASE WHEN {live}
                          THEN convert_to((encode(t.value, 'escape')::bigint
                                         + encode(excluded.value, 'escape')::bigint)::text, 'UTF8'::name)
                          ELSE excluded.value END,
        version    = greatest(t.version + 1, excluded.version),
        expires_at = CASE WHEN {live} THEN t.expires_at ELSE excluded.expires_at END,
        {fresh}
    WHERE CASE WHEN {live}
               THEN CASE WHEN t.kind = 0::smallint
                          AND octet_length(t.value) <= 20
                          AND encode(t.value, 'escape') ~ '^(0|-?[1-9][0-9]{0,18})$'
                         THEN encode(t.value, 'escape')::numeric
                              BETWEEN -9223372036854775808::numeric AND 9223372036854775807::numeric
                              AND encode(t.value, 'escape')::numeric
                                + encode(excluded.value, 'escape')::numeric
                              BETWEEN -9223372036854775808::numeric AND 9223372036854775807::numeric
                         ELSE false END
               ELSE {writable} END
    RETURNING hash, value, version
)
{log}, near AS ({note $1 $2})
SELECT u.h, put.value, put.version, met.value, met.kind
FROM u
LEFT JOIN put ON put.hash = u.h
LEFT JOIN LATERAL ( -- OFFSET 0: it is looked up by the index for each row
    SELECT substring(p.value FROM 1 FOR 24) AS value, p.kind::integer AS kind
    FROM {table} AS p
    WHERE put.hash IS NULL AND p.hash = u.h AND p.key = u.k AND p.expires_at > statement_timestamp()
    OFFSET 0) AS met ON true
