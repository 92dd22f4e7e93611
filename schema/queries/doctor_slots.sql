-- Replication slots, how many transactions ago the snapshot was taken that they
-- hold, and how many bytes of WAL they retain.
SELECT slot_name::text,
       slot_type,
       active,
       CASE WHEN coalesce(xmin, catalog_xmin) IS NULL THEN 0
            ELSE greatest(age(xmin), age(catalog_xmin), 1) END::bigint,
       coalesce(pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn), 0)::bigint
FROM pg_replication_slots
