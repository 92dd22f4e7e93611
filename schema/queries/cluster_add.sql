-- Tells Citus of a server.
--   $1 host, $2 port
SELECT pg_catalog.citus_add_node($1::text, $2::integer)
