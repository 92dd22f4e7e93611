-- Values of live entries with their version, expiry and kind.
--   $1 hashes
SELECT hash, key, value, octet_length(value), version, expires_at, statement_timestamp(),
       kind::integer
FROM {table}
WHERE hash = ANY ($1::bigint[])
  AND expires_at > statement_timestamp(){and_here}
