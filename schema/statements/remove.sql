-- Removes the row of one key, which the caller holds.
--   $1 hash, $2 key
DELETE FROM {table}
WHERE hash = $1::bigint AND key = $2::bytea
