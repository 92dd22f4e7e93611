CREATE OR REPLACE FUNCTION howdah_internal._elsewhere(settings howdah_internal.cache) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE
AS $$
BEGIN
    IF settings.shard IS NOT NULL AND NOT howdah_internal._is_here(settings) THEN
        RAISE EXCEPTION 'Partition % of cache % is on the server %.', settings.partition, quote_literal(settings.whole),
            (SELECT n.nodename || ':' || n.nodeport
             FROM pg_catalog.pg_dist_placement AS p JOIN pg_catalog.pg_dist_node AS n ON n.groupid = p.groupid AND n.noderole = 'primary'
             WHERE p.shardid = settings.shard)
            USING ERRCODE = 'HW098', HINT = 'Call the function there, or use the library or a server of Howdah, which find the server of each key.';
    END IF;
END
$$;

COMMENT ON FUNCTION howdah_internal._elsewhere(howdah_internal.cache) IS
'Internal. Raises HW098 with the name of the server if the tables of a partition are on another one.';

REVOKE ALL ON FUNCTION howdah_internal._elsewhere(howdah_internal.cache) FROM PUBLIC;
