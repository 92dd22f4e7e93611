-- One page of live entries, without their values, in the order of the hashes.
-- A page ends with the whole of its last slot, so that no entry of it is skipped.
--   $1 hash to begin with, $2 entries to look at, $3 prefix of keys,
--   $4 last hash of the first slot
WITH page AS (
    SELECT max(hash) | $4::bigint AS last, count(*) AS n
    FROM (SELECT hash FROM {table} WHERE hash >= $1::bigint{and_here} ORDER BY hash LIMIT $2::integer) AS p
)
SELECT page.last, page.n, t.key, octet_length(t.value), t.version, t.expires_at, statement_timestamp(), t.kind
FROM page
LEFT JOIN {table} AS t
  ON t.hash BETWEEN $1 AND page.last
 AND t.expires_at > statement_timestamp()
 AND substring(t.key FROM 1 FOR octet_length($3::bytea)) = $3
ORDER BY t.hash
