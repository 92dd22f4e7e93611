CREATE OR REPLACE FUNCTION howdah_internal._replication_lag() RETURNS bigint
LANGUAGE plpgsql VOLATILE  -- it keeps the plan, which would cost more than the answer
AS $$
BEGIN
    RETURN (SELECT max(pg_wal_lsn_diff(pg_current_wal_lsn(), p.lsn))::bigint
        FROM (
            -- Without the rights of pg_read_all_stats the state is NULL here.
            SELECT coalesce(r.replay_lsn, r.flush_lsn) AS lsn
            FROM pg_stat_replication AS r
            WHERE r.state IN ('streaming', 'catchup')
            UNION ALL
            -- Anybody may see slots. A logical one keeps WAL from before what it
            -- has confirmed, without being behind.
            SELECT coalesce(s.confirmed_flush_lsn, s.restart_lsn)
            FROM pg_replication_slots AS s
            WHERE s.wal_status <> 'lost'
        ) AS p);
END
$$;

COMMENT ON FUNCTION howdah_internal._replication_lag() IS
'Internal. How many bytes of WAL the slowest standby or replication slot is
behind. NULL: there is none that this role may see.';

REVOKE ALL ON FUNCTION howdah_internal._replication_lag() FROM PUBLIC;
