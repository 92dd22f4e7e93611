CREATE OR REPLACE FUNCTION howdah_internal._placements(shards bigint[]) RETURNS bigint[]
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    -- Not placementid: on workers Citus keeps it when it moves a shard, and changes the
    -- group in the row. The transaction that has written the row is of this server: it
    -- is another one after each move, and the group tells servers apart.
    RETURN ARRAY(
        SELECT coalesce((SELECT (p.groupid::bigint << 32) + p.xmin::text::bigint FROM pg_dist_placement AS p
                         WHERE p.shardid = s.shard AND p.groupid = (SELECT g.groupid FROM pg_dist_local_group AS g)), 0)
        FROM unnest(shards) WITH ORDINALITY AS s (shard, place)
        ORDER BY s.place);
END
$$;

COMMENT ON FUNCTION howdah_internal._placements(bigint[]) IS
'Internal. Numbers of the copies of shards on this server, in their order; 0 where there is
none. A copy on another server has another number, and one that comes back has, too.';

REVOKE ALL ON FUNCTION howdah_internal._placements(bigint[]) FROM PUBLIC;
