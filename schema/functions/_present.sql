CREATE OR REPLACE FUNCTION howdah_internal._present(shard bigint) RETURNS boolean
LANGUAGE plpgsql STABLE
AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_dist_placement AS p
                   WHERE p.shardid OPERATOR(pg_catalog.=) shard
                     AND p.groupid OPERATOR(pg_catalog.=) (SELECT g.groupid FROM pg_catalog.pg_dist_local_group AS g)) THEN
        IF NOT EXISTS (SELECT FROM pg_catalog.pg_dist_placement AS p WHERE p.shardid OPERATOR(pg_catalog.=) shard) THEN
            RAISE EXCEPTION 'There is no cache with the shard %.', shard
                USING ERRCODE = 'undefined_table', HINT = 'Read the settings of the cache again.';
        END IF;
        RAISE EXCEPTION 'The partition is on another server.'
            USING ERRCODE = 'HW099', HINT = 'Ask the server that pg_dist_placement names.';
    END IF;
    RETURN true;
END
$$;

COMMENT ON FUNCTION howdah_internal._present(bigint) IS
'Internal. Raises HW099 if a shard is on another server, by the snapshot of the statement.
It takes no lock: reads go on while the shard is copied.';

REVOKE ALL ON FUNCTION howdah_internal._present(bigint) FROM PUBLIC;
