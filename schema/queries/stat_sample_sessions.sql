-- Some blocks of the table of the sessions, as in stat_sample.sql. A session that
-- was ended is kept until it would have expired anyway.
SELECT {number}::integer,
       count(*),
       count(*) FILTER (WHERE idle_expires_at > statement_timestamp()),
       count(*) FILTER (WHERE idle_expires_at <= statement_timestamp()
                          AND (idle_expires_at > '-infinity' OR absolute_expires_at <= statement_timestamp())),
       0::float8
FROM howdah.session TABLESAMPLE SYSTEM ({share})
