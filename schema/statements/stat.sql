-- As get_entry, without the values: octet_length does not fetch a value that
-- is stored out of line.
--   $1 hashes
SELECT hash, key, NULL::bytea, octet_length(value), version, expires_at, statement_timestamp(),
       kind::integer
FROM {table}
WHERE hash = ANY ($1::bigint[])
  AND expires_at > statement_timestamp(){and_here}
