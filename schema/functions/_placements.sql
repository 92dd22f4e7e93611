CREATE OR REPLACE FUNCTION howdah_internal._placements(shards bigint[]) RETURNS bigint[]
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN ARRAY(
        SELECT coalesce((SELECT p.placementid FROM pg_dist_placement AS p
                         WHERE p.shardid = s.shard AND p.groupid = (SELECT g.groupid FROM pg_dist_local_group AS g)), 0)
        FROM unnest(shards) WITH ORDINALITY AS s (shard, place)
        ORDER BY s.place);
END
$$;

COMMENT ON FUNCTION howdah_internal._placements(bigint[]) IS
'Internal. The numbers that Citus gave to the copies of shards on this server, in their
order; 0 where there is none. One that comes back has another number.';

REVOKE ALL ON FUNCTION howdah_internal._placements(bigint[]) FROM PUBLIC;
