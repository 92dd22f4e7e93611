-- Where other servers reach the coordinator, in a database that Citus places partitions in.
SELECT n.nodename, n.nodeport
FROM pg_catalog.pg_dist_node AS n
WHERE n.groupid = 0 AND n.noderole = 'primary'
