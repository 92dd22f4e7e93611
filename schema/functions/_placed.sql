CREATE OR REPLACE FUNCTION howdah_internal._placed() RETURNS boolean
LANGUAGE sql STABLE PARALLEL SAFE
RETURN pg_catalog.to_regnamespace('howdah_p00') IS NOT NULL;

COMMENT ON FUNCTION howdah_internal._placed() IS
'Internal. Whether Citus places the partitions of this database on several servers.';

REVOKE ALL ON FUNCTION howdah_internal._placed() FROM PUBLIC;
