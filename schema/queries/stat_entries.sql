-- Rows of a cache in blocks that are chosen at random: the beginning of the key, the
-- bytes of key and value, the kind, whether the entry lives, when it expires (NULL:
-- never), when it was written and when it was last used. Values are not read. {table} is
-- the table.
--   $1 how many per cent of the blocks
--   $2 how many bytes of the key
--   $3 how many rows at most
SELECT substring(e.key FROM 1 FOR $2::integer),
       octet_length(e.key),
       octet_length(e.value),
       e.kind,
       e.expires_at > statement_timestamp(),
       CASE WHEN isfinite(e.expires_at) THEN e.expires_at END,
       to_timestamp(e.version / 1000000.0::float8),
       to_timestamp(greatest(e.accessed * 60.0::float8, e.version / 1000000.0::float8))
FROM {table} AS e TABLESAMPLE SYSTEM ($1::float4)
LIMIT $3::bigint
