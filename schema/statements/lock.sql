-- Locks rows until the transaction ends, and answers what they are: the version, and
-- whether there is an entry. The row of an absent key has a version too (see watch).
--   $1 hashes
SELECT t.hash, t.key, t.version, t.expires_at > statement_timestamp()
FROM {table} AS t
WHERE t.hash = ANY ($1::bigint[])
ORDER BY t.hash
FOR UPDATE
