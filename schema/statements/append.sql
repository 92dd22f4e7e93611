-- Appends to strings, up to $5 bytes. Where nothing was written, the entry as the
-- statement's snapshot shows it tells why: its kind if it is no string, 0 if the value
-- would be too long. An entry that has changed since has no row in the answer.
--   $1 hashes, $2 keys, $3 values, $4 expiries of new entries
WITH put AS (
    INSERT INTO {table} AS t (hash, key, value, version, expires_at)
    SELECT u.h, u.k, u.v, {clock}, {expiry}
    FROM unnest($1::bigint[], $2::bytea[], $3::bytea[], $4::bigint[]) AS u (h, k, v, e)
    ON CONFLICT (hash) DO UPDATE
    SET key        = excluded.key,
        value      = CASE WHEN {live} THEN t.value || excluded.value ELSE excluded.value END,
        version    = greatest(t.version + 1, excluded.version),
        expires_at = CASE WHEN {live} THEN t.expires_at ELSE excluded.expires_at END,
        {fresh}
    WHERE CASE WHEN {live}
               THEN t.kind = 0::smallint
                AND octet_length(t.value) + octet_length(excluded.value) <= $5::bigint
               ELSE {writable} END
    RETURNING hash, octet_length(value) AS length, version
)
{log}, near AS ({note $1 $2})
SELECT p.hash, p.length, p.version, NULL::integer FROM put AS p
UNION ALL
SELECT u.h, NULL, NULL, met.reason
FROM unnest($1, $2, $3) AS u (h, k, v)
CROSS JOIN LATERAL ( -- OFFSET 0: it is looked up by the index for each row
    SELECT p.kind::integer AS reason
    FROM {table} AS p
    WHERE p.hash = u.h
      AND p.key = u.k
      AND p.expires_at > statement_timestamp()
      AND (p.kind <> 0::smallint OR octet_length(p.value) + octet_length(u.v) > $5)
    OFFSET 0) AS met
WHERE (SELECT count(*) FROM put) < pg_catalog.cardinality($1)
  AND u.h NOT IN (SELECT p.hash FROM put AS p)
