-- Some blocks of the table of the sessions, as in stat_sample.sql. A session that
-- was ended is kept until it would have expired anyway.
--   $1 how many per cent of the blocks
SELECT count(*),
       count(*) FILTER (WHERE idle_expires_at > statement_timestamp()),
       count(*) FILTER (WHERE idle_expires_at <= statement_timestamp()
                          AND (idle_expires_at > '-infinity' OR absolute_expires_at <= statement_timestamp())),
       0::float8
FROM howdah.session TABLESAMPLE SYSTEM ($1::float4)
