CREATE OR REPLACE FUNCTION howdah_internal._altered(before howdah_internal.cache, changes jsonb, partitions integer) RETURNS howdah_internal.cache
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    after  howdah_internal.cache := jsonb_populate_record(before, changes);
    -- Without a log there are no keys in it.
    logged CONSTANT boolean := coalesce((changes ->> 'near')::boolean, 'near' = ANY (before.features));
    named  CONSTANT boolean := coalesce((changes ->> 'log_keys')::boolean, logged AND 'log_keys' = ANY (before.features));
BEGIN
    after.features := array_remove(array_remove(before.features, 'near'), 'log_keys')
                      || CASE WHEN logged THEN '{near}' ELSE '{}' END::text[] || CASE WHEN named THEN '{log_keys}' ELSE '{}' END::text[];
    after.name := howdah_internal._shown_name(before);  -- for an error
    PERFORM howdah_internal._check_settings(after);
    after.name := before.name;
    IF before.partition IS NOT NULL AND changes ? 'max_bytes' THEN
        after.max_bytes := howdah_internal._budget_share(after.max_bytes, before.partition, partitions);
    END IF;
    IF before.partition IS NOT NULL AND changes ? 'max_entries' THEN
        after.max_entries := howdah_internal._budget_share(after.max_entries, before.partition, partitions);
    END IF;
    RETURN after;
END
$$;

COMMENT ON FUNCTION howdah_internal._altered(howdah_internal.cache, jsonb, integer) IS
'Internal. The settings of a cache, or of one of its partitions, after changes, with the id that it
has. Raises HW004.

changes: settings by the names of the arguments of howdah.create_cache.
partitions: how many the cache has.';

REVOKE ALL ON FUNCTION howdah_internal._altered(howdah_internal.cache, jsonb, integer) FROM PUBLIC;
