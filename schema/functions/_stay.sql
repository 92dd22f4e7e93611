CREATE OR REPLACE FUNCTION howdah_internal._stay(settings howdah_internal.cache) RETURNS howdah_internal.cache
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
    IF settings.shard IS NOT NULL THEN
        PERFORM howdah_internal._elsewhere(settings);
        PERFORM howdah_internal._here(settings.shard);
        -- Citus lets nobody lock or truncate its shards without it.
        PERFORM pg_catalog.set_config('citus.enable_manual_changes_to_shards', 'on', true);
    END IF;
    RETURN settings;
END
$$;

COMMENT ON FUNCTION howdah_internal._stay(howdah_internal.cache) IS
'Internal. Before a function writes: keeps the tables of a partition on this server until the
transaction ends. Raises HW098, or HW099 if they left at this moment. Returns its argument.';

REVOKE ALL ON FUNCTION howdah_internal._stay(howdah_internal.cache) FROM PUBLIC;
