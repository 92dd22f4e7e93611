-- Has Citus keep partitions away from a server.
--   $1 host, $2 port
SELECT pg_catalog.citus_set_node_property($1::text, $2::integer, 'shouldhaveshards', false)
