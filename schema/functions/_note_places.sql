CREATE OR REPLACE FUNCTION howdah_internal._note_places() RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM howdah_internal._check_admin();
    UPDATE howdah_internal.cache AS c
    SET relation = p.relation, tag_relation = p.tag_relation, shard = p.shard
    FROM (SELECT n.name, n.relation || '_' || s.shardid AS relation, n.tag_relation || '_' || t.shardid AS tag_relation, s.shardid AS shard
          FROM (SELECT (howdah_internal._named(i)).* FROM howdah_internal.cache AS i WHERE i.partition IS NOT NULL) AS n
          JOIN pg_dist_shard AS s ON s.logicalrelid = to_regclass(n.relation)
          JOIN pg_dist_shard AS t ON t.logicalrelid = to_regclass(n.tag_relation)) AS p
    WHERE c.name = p.name AND (c.relation, c.tag_relation, c.shard) IS DISTINCT FROM (p.relation, p.tag_relation, p.shard);
    PERFORM howdah_internal._create_view(c), howdah_internal._grant_cache(c, r.role)
    FROM howdah_internal.cache AS c LEFT JOIN howdah.runtime_role AS r ON true
    WHERE c.partition = 0 AND to_regclass(format('howdah.%I', 'cache_' || c.whole)) IS NULL;
END
$$;

COMMENT ON FUNCTION howdah_internal._note_places() IS
'Internal. Notes the names that the tables of partitions have on their servers, and makes the
views that are missing. It runs on the coordinator without citus.enable_ddl_propagation.';

REVOKE ALL ON FUNCTION howdah_internal._note_places() FROM PUBLIC;
