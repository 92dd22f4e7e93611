-- The number of rows with a tag that were looked at, and of the live entries that they are of.
--   $1 hash of the tag, $2 rows to look at
WITH tagged AS MATERIALIZED (
    SELECT g.hash FROM {tags} AS g WHERE g.tag = $1::bigint AND g.hash >= 0 LIMIT $2::integer
)
SELECT (SELECT count(*) FROM tagged), count(*)
FROM {table}
WHERE hash = ANY (ARRAY(SELECT t.hash FROM tagged AS t))
  AND expires_at > statement_timestamp(){and_here}
