-- Holds the place of keys that must stay absent until the transaction ends:
-- an expired row is absent to every reader, and can be locked. In the order of
-- the hashes, as every statement on many rows.
--   $1 hashes, $2 keys
INSERT INTO {table} AS t (hash, key, value, version, expires_at)
SELECT u.h, u.k, '', {clock}, '-infinity'
FROM unnest($1::bigint[], $2::bytea[]) AS u (h, k)
ORDER BY u.h
ON CONFLICT (hash) DO NOTHING
