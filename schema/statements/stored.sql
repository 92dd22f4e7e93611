-- Live entries as they are stored, of any kind, with what belongs to them. To be read by
-- this is no use of an entry.
--   $1 hashes
SELECT t.key, t.value, t.version, t.expires_at, statement_timestamp(), t.kind, t.stale_seconds,
       (SELECT pg_catalog.count(*) FROM {tags} AS g WHERE g.hash = t.hash)
FROM {table} AS t
WHERE t.hash = ANY ($1::bigint[])
  AND t.expires_at > statement_timestamp(){and_here}
