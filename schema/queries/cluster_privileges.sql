-- Whether this role may add servers and change them.
SELECT coalesce(bool_and(pg_catalog.has_function_privilege(p.oid, 'EXECUTE')), false)
FROM pg_catalog.pg_proc AS p
WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.proname IN ('citus_add_node', 'citus_set_node_property')
