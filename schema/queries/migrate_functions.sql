-- After all functions: the tables of tags and the views of the caches, and the
-- privileges of the roles that run applications.
SELECT howdah_internal._create_tags(c) FROM howdah_internal.cache AS c;
SELECT howdah_internal._create_view(c) FROM howdah_internal.cache AS c WHERE coalesce(c.partition, 0) = 0;
SELECT howdah_internal._grant_runtime(r.role) FROM howdah.runtime_role AS r;
-- Autovacuum never comes to a table of one row, and until then the planner
-- takes it for hundreds.
ANALYZE howdah.meta;
