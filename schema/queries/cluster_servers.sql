-- The servers that Citus knows, by their number; the coordinator has 0. Of each: its host and
-- port, whether it may hold partitions, whether it has heard of all changes, and whether it
-- is the one that answers.
SELECT n.groupid, n.nodeid, n.nodename, n.nodeport, n.shouldhaveshards, n.metadatasynced OR n.groupid = 0,
       n.groupid = (SELECT g.groupid FROM pg_catalog.pg_dist_local_group AS g)
FROM pg_catalog.pg_dist_node AS n
WHERE n.noderole = 'primary' AND n.isactive
ORDER BY n.groupid
