CREATE OR REPLACE FUNCTION howdah_internal._remake_parts() RETURNS integer
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    lost   howdah_internal.cache;
    number integer := 0;
BEGIN
    PERFORM howdah_internal._check_admin();
    FOR lost IN
        SELECT c.* FROM howdah_internal.cache AS c
        WHERE c.relation IS NOT NULL
          AND to_regclass((howdah_internal._named(c)).relation) IS NULL
          AND to_regclass((howdah_internal._named(c)).tag_relation) IS NULL
        ORDER BY c.name COLLATE "C" FOR UPDATE
    LOOP
        DELETE FROM howdah_internal.cache AS c WHERE c.name = lost.name;
        lost.id := NULL;
        PERFORM howdah_internal._create_part(lost);
        number := number + 1;
    END LOOP;
    RETURN number;
END
$$;

COMMENT ON FUNCTION howdah_internal._remake_parts() IS
'Internal. Makes partitions again, empty, whose tables are gone for Citus too, as after somebody
has dropped the schema of a partition. It runs on the coordinator without
citus.enable_ddl_propagation, and howdah_internal._place_steps after it.

Returns how many tables of entries it made.';

REVOKE ALL ON FUNCTION howdah_internal._remake_parts() FROM PUBLIC;
