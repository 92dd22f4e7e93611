-- Versions of live entries, which nobody else changes until the transaction
-- ends.
--   $1 hashes
SELECT t.hash, t.key, t.version, t.expires_at > statement_timestamp()
FROM {table} AS t
WHERE t.hash = ANY ($1::bigint[])
ORDER BY t.hash
FOR UPDATE
