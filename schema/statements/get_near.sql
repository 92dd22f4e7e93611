-- As get, for a reader that keeps the answer in its memory: with what it must know
-- of the entry, and of the server that answers. The first row has no hash, and is
-- there also when no key is: it says when the server was started.
--   $1 hashes
SELECT NULL::bigint, NULL::bytea, NULL::bytea, NULL::bigint, NULL::integer, NULL::timestamptz,
       pg_catalog.pg_postmaster_start_time()
UNION ALL
SELECT t.hash, t.key, t.value, t.version, t.kind::integer, t.expires_at, statement_timestamp()
FROM {table} AS t
WHERE t.hash = ANY ($1::bigint[])
  AND t.expires_at > statement_timestamp(){and_here}
