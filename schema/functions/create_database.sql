-- The one function with the rights of the owner: hence the fixed search_path,
-- and hence granted to nobody but by howdah.grant_runtime(role, true).
CREATE OR REPLACE FUNCTION howdah.create_database(number integer) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    template record;
BEGIN
    IF number IS NULL OR number NOT BETWEEN 1 AND 15 THEN
        RAISE EXCEPTION 'There is no database %.', coalesce(number::text, 'NULL')
            USING ERRCODE = 'HW012', HINT = 'Databases are numbered 0 to 15; database 0 is the cache db0.';
    END IF;
    IF EXISTS (SELECT FROM howdah_internal._partitions('db' || number)) THEN
        RETURN false;
    END IF;
    SELECT c.* INTO template FROM howdah.caches() AS c WHERE c.name = 'db0';
    IF NOT FOUND THEN
        PERFORM howdah_internal._no_cache('db0');
    END IF;
    -- Another session may have made it meanwhile.
    RETURN howdah.create_cache(
        'db' || number, template.durability, template.default_ttl, template.max_ttl,
        template.max_bytes, template.max_entries, template.eviction,
        template.fillfactor, template.prefix_index, template.ttl_jitter, if_not_exists => true,
        near => template.near, log_keys => template.log_keys);
END
$$;

COMMENT ON FUNCTION howdah.create_database(integer) IS
'Makes the cache db1 to db15, which is the Redis database of that number, with the
settings of db0, unless it is there. It runs with the rights of the owner; a role
may call it after howdah.grant_runtime(role, true).

number: 1 to 15.

Returns true if it made the cache.
Errors: HW012 no such number, HW001 if db0 was dropped.';

REVOKE ALL ON FUNCTION howdah.create_database(integer) FROM PUBLIC;
