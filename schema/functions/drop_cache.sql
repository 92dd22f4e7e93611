CREATE OR REPLACE FUNCTION howdah.drop_cache(name text, if_exists boolean DEFAULT false) RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
-- While DROP waits for its lock, every other user of the cache waits behind it.
-- Longer than deadlock_timeout (1 s), at which an autovacuum in the way gives up.
SET lock_timeout = '2s'
AS $$
DECLARE
    dropped howdah_internal.cache;
BEGIN
    PERFORM howdah_internal._check_name(name);
    PERFORM howdah_internal._check_admin();
    DELETE FROM howdah_internal.cache AS c WHERE c.name = drop_cache.name RETURNING c.* INTO dropped;
    IF NOT FOUND THEN
        IF if_exists THEN
            RETURN false;
        END IF;
        RAISE EXCEPTION 'Cache % does not exist.', quote_literal(name)
            USING ERRCODE = 'HW001', HINT = 'SELECT name FROM howdah.caches() lists the caches.';
    END IF;
    BEGIN
        EXECUTE format('DROP VIEW IF EXISTS howdah.%I', 'cache_' || name);
        EXECUTE format('DROP TABLE IF EXISTS howdah_internal.%I, howdah_internal.%I', 'cache_' || dropped.id, 'tag_' || dropped.id);
    EXCEPTION
        WHEN lock_not_available THEN
            RAISE EXCEPTION 'Cache % is in use, and was not dropped.', quote_literal(name)
                USING ERRCODE = 'lock_not_available',
                      HINT = 'A transaction has held its table for 2 s: try again, or find it in pg_locks and end it.';
    END;
    PERFORM howdah_internal._log(dropped, NULL);
    -- After the table, as a round of upkeep locks them.
    DELETE FROM howdah.upkeep AS u WHERE u.cache = drop_cache.name;
    RETURN true;
END
$$;

COMMENT ON FUNCTION howdah.drop_cache(text, boolean) IS
'Drops a cache and all its entries. Only the owner of the schema may. Waits at
most 2 s for transactions that use the cache, then fails with 55P03.

name: the cache.
if_exists: true: a cache that does not exist is no error.

Returns true if there was such a cache.
Errors: HW001 not found, HW002 invalid name, 42501 no privilege, 55P03 in use.';

REVOKE ALL ON FUNCTION howdah.drop_cache(text, boolean) FROM PUBLIC;
