CREATE OR REPLACE FUNCTION howdah_internal._place_steps() RETURNS SETOF text
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
-- No NOTICE of a view that somebody has dropped before.
SET client_min_messages = warning
AS $$
DECLARE
    part howdah_internal.cache;
BEGIN
    PERFORM howdah_internal._check_admin();
    FOR part IN
        SELECT c.* FROM howdah_internal.cache AS c
        WHERE c.partition IS NOT NULL AND c.relation IS NULL
        ORDER BY c.whole, c.partition
    LOOP
        IF part.partition = 0 THEN  -- it is made again, over the tables where they are then
            EXECUTE format('DROP VIEW IF EXISTS howdah.%I', 'cache_' || part.whole);
        END IF;
        RETURN NEXT format('ALTER TABLE howdah_internal.cache_%s SET SCHEMA howdah_p%s', part.id, lpad(part.partition::text, 2, '0'));
        RETURN NEXT format('ALTER TABLE howdah_internal.tag_%s SET SCHEMA howdah_p%s', part.id, lpad(part.partition::text, 2, '0'));
    END LOOP;
END
$$;

COMMENT ON FUNCTION howdah_internal._place_steps() IS
'Internal. The statements that hand tables that are here to Citus, which takes them only by
statements of their own. They run on the coordinator with citus.enable_ddl_propagation, and
howdah_internal._note_places after them.';

REVOKE ALL ON FUNCTION howdah_internal._place_steps() FROM PUBLIC;
