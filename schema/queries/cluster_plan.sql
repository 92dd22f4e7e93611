-- The moves of partitions after which all servers hold as much. All tables of a partition
-- move together.
SELECT DISTINCT substr(s.nspname, 9)::integer, p.sourcename, p.sourceport, p.targetname, p.targetport
FROM pg_catalog.get_rebalance_table_shards_plan() AS p
JOIN pg_catalog.pg_class AS c ON c.oid = p.table_name
JOIN pg_catalog.pg_namespace AS s ON s.oid = c.relnamespace
WHERE s.nspname ~ '^howdah_p[0-9]{2}$'
ORDER BY 1
