-- Which of these rows somebody else's transaction holds: asked after a shared
-- write met a lock, so that only the callers of those rows go on waiting.
--   $1 hashes
WITH free AS MATERIALIZED (
    SELECT hash
    FROM {table}
    WHERE hash = ANY ($1::bigint[])
    FOR UPDATE SKIP LOCKED
)
SELECT hash
FROM {table}
WHERE hash = ANY ($1::bigint[])
  AND hash NOT IN (SELECT hash FROM free)
