-- Values of live entries. The caller compares the key: another key may hold
-- the slot of the same hash.
--   $1 hashes
SELECT hash, key, value
FROM {table}
WHERE hash = ANY ($1::bigint[])
  AND expires_at > statement_timestamp()
