-- Removes the row of one key, which the caller holds.
--   $1 hash, $2 key
{log}WITH near AS ({note_one $1 $2})
DELETE FROM {table}
WHERE hash = $1::bigint AND key = $2::bytea
