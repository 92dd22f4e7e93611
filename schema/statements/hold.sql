-- Holds the places of keys until the transaction ends: whoever wants to store or
-- to claim one of them waits. A row that is there is locked as it is; where there
-- is none, an expired one is stored, which is absent to every reader. In the order
-- of the hashes, as every statement on many rows.
--   $1 hashes, $2 keys
INSERT INTO {table} AS t (hash, key, value, version, expires_at)
SELECT u.h, u.k, '', {clock}, '-infinity'
FROM unnest($1::bigint[], $2::bytea[]) AS u (h, k)
ORDER BY u.h
ON CONFLICT (hash) DO UPDATE
SET version = t.version
WHERE false
