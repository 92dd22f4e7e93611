-- Standbys, and how many transactions ago the snapshot was taken that they hold:
-- in their slot, if they have one.
SELECT coalesce(nullif(w.application_name, ''), w.pid::text),
       CASE WHEN coalesce(w.backend_xmin, s.xmin) IS NULL THEN 0
            ELSE greatest(age(w.backend_xmin), age(s.xmin), 1) END::bigint
FROM pg_stat_replication AS w
LEFT JOIN pg_replication_slots AS s ON s.active_pid = w.pid
