-- Whether this server is one of several already, as their coordinator or as a worker.
SELECT EXISTS (SELECT FROM pg_catalog.pg_dist_node AS n
               WHERE n.groupid <> (SELECT g.groupid FROM pg_catalog.pg_dist_local_group AS g))
