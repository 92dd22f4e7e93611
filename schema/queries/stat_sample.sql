-- Some blocks of the table of a cache: the entries, those that live, those that
-- have expired, and their size on average. {table} is the table.
--   $1 how many per cent of the blocks
SELECT count(*),
       count(*) FILTER (WHERE expires_at > statement_timestamp()),
       count(*) FILTER (WHERE expires_at <= statement_timestamp()),
       coalesce(avg(octet_length(key) + octet_length(value) + 100), 0)::float8
FROM {table} TABLESAMPLE SYSTEM ($1::float4)
