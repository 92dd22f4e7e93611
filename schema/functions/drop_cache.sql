CREATE OR REPLACE FUNCTION howdah.drop_cache(name text, if_exists boolean DEFAULT false) RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
-- No NOTICE of a view or a table that somebody has dropped before.
SET client_min_messages = warning
-- While DROP waits for its lock, every other user of the cache waits behind it.
-- Longer than deadlock_timeout (1 s), at which an autovacuum in the way gives up.
SET lock_timeout = '2s'
AS $$
DECLARE
    -- For all partitions.
    deadline CONSTANT timestamptz := clock_timestamp() + interval '2 seconds';
    dropped  howdah_internal.cache[];
BEGIN
    PERFORM howdah_internal._check_name(name);
    PERFORM howdah_internal._check_admin(), howdah_internal._check_alone();
    dropped := howdah_internal._lock_rows(name);
    IF dropped IS NULL THEN
        IF if_exists THEN
            RETURN false;
        END IF;
        RAISE EXCEPTION 'Cache % does not exist.', quote_literal(name)
            USING ERRCODE = 'HW001', HINT = 'SELECT name FROM howdah.caches() lists the caches.';
    END IF;
    -- By the names that Citus knows, if it has placed them.
    SELECT array_agg(howdah_internal._named(d) ORDER BY d.partition) INTO dropped FROM unnest(dropped) AS d;
    DELETE FROM howdah_internal.cache AS c USING unnest(dropped) AS d WHERE c.name = d.name;
    BEGIN
        EXECUTE format('DROP VIEW IF EXISTS howdah.%I', 'cache_' || name);
        FOR i IN 1 .. cardinality(dropped) LOOP
            PERFORM howdah_internal._lock_tables(dropped[i], 'ACCESS EXCLUSIVE', deadline);
        END LOOP;
        EXECUTE (SELECT 'DROP TABLE IF EXISTS ' || string_agg(howdah_internal._table(d) || ', ' || howdah_internal._tag_table(d), ', ')
                 FROM unnest(dropped) AS d);
    EXCEPTION
        WHEN lock_not_available THEN
            RAISE EXCEPTION 'Cache % is in use, and was not dropped.', quote_literal(name)
                USING ERRCODE = 'lock_not_available',
                      HINT = 'A transaction has held its table for 2 s: try again, or find it in pg_locks and end it.';
    END;
    PERFORM howdah_internal._log(d, NULL) FROM unnest(dropped) AS d;
    -- After the table, as a round of upkeep locks them.
    DELETE FROM howdah.upkeep AS u USING unnest(dropped) AS d WHERE u.cache = d.name;
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
