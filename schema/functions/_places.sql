CREATE OR REPLACE FUNCTION howdah_internal._places() RETURNS TABLE (partition integer, server integer, host text, port integer)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF to_regclass('pg_catalog.pg_dist_schema') IS NULL THEN
        RETURN;
    END IF;
    -- All tables of a partition are in one schema, which is on one server.
    RETURN QUERY
    SELECT substr(ns.nspname, 9)::integer, n.groupid, n.nodename, n.nodeport
    FROM pg_dist_schema AS d
    JOIN pg_namespace AS ns ON ns.oid = d.schemaid
    JOIN LATERAL (
        SELECT p.groupid
        FROM pg_dist_partition AS r
        JOIN pg_dist_shard AS s USING (logicalrelid)
        JOIN pg_dist_placement AS p USING (shardid)
        WHERE r.colocationid = d.colocationid
        LIMIT 1) AS g ON true
    JOIN pg_dist_node AS n ON n.groupid = g.groupid AND n.noderole = 'primary'
    WHERE ns.nspname ~ '^howdah_p[0-9]{2}$'
    ORDER BY 1;
END
$$;

COMMENT ON FUNCTION howdah_internal._places() IS
'Internal. The server of each partition, as Citus has placed them; no rows without Citus.
server: its number in Citus, 0 for the coordinator.';

REVOKE ALL ON FUNCTION howdah_internal._places() FROM PUBLIC;
