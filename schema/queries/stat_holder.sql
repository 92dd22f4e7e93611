-- Who keeps VACUUM from removing dead rows, and since when: the oldest one. No
-- row: nobody.
SELECT h.who, h.age::bigint, coalesce(h.seconds, 0)::float8
FROM (
    -- What VACUUM itself holds keeps nothing.
    SELECT format('session %s (%s)', a.pid, coalesce(nullif(a.application_name, ''), a.usename, 'unknown')) AS who,
           age(a.backend_xmin) AS age, extract(epoch FROM clock_timestamp() - a.xact_start) AS seconds
    FROM pg_stat_activity AS a
    WHERE a.pid <> pg_backend_pid() AND a.backend_type NOT IN ('autovacuum worker', 'walsender')
    UNION ALL
    SELECT format('prepared transaction %s', p.gid), age(p.transaction), extract(epoch FROM clock_timestamp() - p.prepared)
    FROM pg_prepared_xacts AS p
    UNION ALL
    SELECT format('replication slot %s', s.slot_name), greatest(age(s.xmin), age(s.catalog_xmin)), NULL
    FROM pg_replication_slots AS s
    UNION ALL
    SELECT format('standby %s', coalesce(nullif(w.application_name, ''), w.pid::text)), age(w.backend_xmin), NULL
    FROM pg_stat_replication AS w
) AS h
WHERE h.age IS NOT NULL
ORDER BY h.age DESC
LIMIT 1
