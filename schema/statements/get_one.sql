-- As get, for one key.
--   $1 hash
SELECT hash, key, value
FROM {table}
WHERE hash = $1::bigint
  AND expires_at > statement_timestamp()
