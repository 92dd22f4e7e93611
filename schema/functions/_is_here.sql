CREATE OR REPLACE FUNCTION howdah_internal._is_here(settings howdah_internal.cache) RETURNS boolean
LANGUAGE plpgsql STABLE PARALLEL SAFE
AS $$
BEGIN
    IF settings.shard IS NULL THEN
        RETURN true;
    END IF;
    RETURN EXISTS (
        SELECT FROM pg_catalog.pg_dist_placement AS p
        WHERE p.shardid = settings.shard AND p.groupid = (SELECT g.groupid FROM pg_catalog.pg_dist_local_group AS g));
END
$$;

COMMENT ON FUNCTION howdah_internal._is_here(howdah_internal.cache) IS
'Internal. Whether the tables of a cache, or of a partition of one, are on this server, by the
snapshot of the statement.';

REVOKE ALL ON FUNCTION howdah_internal._is_here(howdah_internal.cache) FROM PUBLIC;
