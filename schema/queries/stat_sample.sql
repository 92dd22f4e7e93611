-- Some blocks of the table of a cache: the entries, those that live, those that have expired,
-- and their size on average. Several of these are joined to one statement. {number} is that of
-- the table, {table} the table, {share} how many per cent of its blocks are read.
SELECT {number}::integer,
       count(*),
       count(*) FILTER (WHERE expires_at > statement_timestamp()),
       count(*) FILTER (WHERE expires_at <= statement_timestamp()),
       coalesce(avg(octet_length(key) + octet_length(value) + 100), 0)::float8
FROM {table} TABLESAMPLE SYSTEM ({share})
