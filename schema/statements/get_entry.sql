-- Values of live entries with their version and expiry.
--   $1 hashes
SELECT hash, key, value, octet_length(value), version, expires_at, statement_timestamp()
FROM {table}
WHERE hash = ANY ($1::bigint[])
  AND expires_at > statement_timestamp()
