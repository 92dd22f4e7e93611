-- Live entries: all, those with a TTL, and the mean of their TTLs in seconds.
SELECT count(*),
       count(*) FILTER (WHERE expires_at < 'infinity'),
       coalesce(avg(date_part('epoch', expires_at - statement_timestamp())) FILTER (WHERE expires_at < 'infinity'), 0)
FROM {table}
WHERE expires_at > statement_timestamp(){and_here}
