CREATE OR REPLACE FUNCTION howdah_internal._create_part(settings howdah_internal.cache) RETURNS boolean
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    made howdah_internal.cache;
BEGIN
    -- The row first: of two that make the same cache, one waits and then fails.
    INSERT INTO howdah_internal.cache AS c
           (id, name, whole, partition, durability, default_ttl, max_ttl, max_bytes, max_entries, eviction,
            fillfactor, prefix_index, ttl_jitter, features, events)
    SELECT coalesce(settings.id, nextval(pg_get_serial_sequence('howdah_internal.cache', 'id'))),
           settings.name, settings.whole, settings.partition, settings.durability, settings.default_ttl, settings.max_ttl,
           settings.max_bytes, settings.max_entries, settings.eviction, settings.fillfactor, settings.prefix_index,
           settings.ttl_jitter, settings.features,
           coalesce((SELECT n.events ~ '[KE]' AND n.events ~ '[^KE]' FROM howdah_internal.notification AS n FOR SHARE), false)
    ON CONFLICT ON CONSTRAINT cache_pkey DO NOTHING
    RETURNING c.* INTO made;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM howdah_internal._create_table(made);
    RETURN true;
END
$$;

COMMENT ON FUNCTION howdah_internal._create_part(howdah_internal.cache) IS
'Internal. Makes a cache without partitions, or a partition of one: its row and its tables. The
caller makes the view, and grants.

Returns false if there is one of that name.';

REVOKE ALL ON FUNCTION howdah_internal._create_part(howdah_internal.cache) FROM PUBLIC;
