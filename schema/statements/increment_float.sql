-- Adds to decimal numbers, exactly, rounded to 17 places as Redis prints them.
--   $1 hashes, $2 keys, $3 deltas as text, $4 expiries of new entries
WITH u AS MATERIALIZED (
    SELECT * FROM unnest($1::bigint[], $2::bytea[], $3::text[], $4::bigint[]) AS u (h, k, d, e)
), put AS (
    INSERT INTO {table} AS t (hash, key, value, version, expires_at)
    SELECT u.h, u.k, convert_to(trim_scale(round(u.d::numeric, 17))::text, 'UTF8'::name), {clock}, {expiry}
    FROM u
    ON CONFLICT (hash) DO UPDATE
    SET key        = excluded.key,
        value      = CASE WHEN {live}
                          THEN convert_to(trim_scale(round(
                                   encode(t.value, 'escape')::numeric
                                 + (SELECT u.d::numeric FROM u WHERE u.h = excluded.hash), 17))::text, 'UTF8'::name)
                          ELSE excluded.value END,
        version    = greatest(t.version + 1, excluded.version),
        expires_at = CASE WHEN {live} THEN t.expires_at ELSE excluded.expires_at END
    WHERE CASE WHEN {live}
               THEN octet_length(t.value) <= 350
                    AND encode(t.value, 'escape') ~ '^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]{1,3})?$'
               ELSE {writable} END
    RETURNING hash, value, version
)
SELECT u.h, put.value, put.version, NULL::bytea
FROM u LEFT JOIN put ON put.hash = u.h
