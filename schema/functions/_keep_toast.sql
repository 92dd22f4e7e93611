CREATE OR REPLACE FUNCTION howdah_internal._keep_toast() RETURNS integer
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    part   howdah_internal.cache;
    lacks  text[];
    number integer := 0;
BEGIN
    PERFORM howdah_internal._check_admin();
    FOR part IN SELECT c.* FROM howdah_internal.cache AS c WHERE c.shard IS NOT NULL ORDER BY c.name COLLATE "C" LOOP
        CONTINUE WHEN NOT howdah_internal._is_here(part);
        lacks := howdah_internal._toast_lacks(part);
        IF lacks IS NOT NULL THEN
            -- Neither readers nor writers wait for that.
            EXECUTE format('ALTER TABLE %s SET (%s)', howdah_internal._table(part), array_to_string(lacks, ', '));
            number := number + 1;
        END IF;
    END LOOP;
    RETURN number;
END
$$;

COMMENT ON FUNCTION howdah_internal._keep_toast() IS
'Internal. Gives the tables of partitions that are on this server the storage parameters for
values out of line that Citus left out. It runs with citus.enable_manual_changes_to_shards.

Returns the number of tables that lacked some.';

REVOKE ALL ON FUNCTION howdah_internal._keep_toast() FROM PUBLIC;
