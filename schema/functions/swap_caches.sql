-- With the rights of the owner, as howdah.create_database: it renames tables. Hence the
-- fixed search_path, and hence granted to nobody.
CREATE OR REPLACE FUNCTION howdah.swap_caches(first text, second text) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
-- While the swap waits for its lock, every other user of the caches waits behind it.
-- Longer than deadlock_timeout (1 s), at which an autovacuum in the way gives up.
SET lock_timeout = '2s'
AS $$
DECLARE
    part     howdah_internal.cache;    -- one to be locked
    a        howdah_internal.cache[];  -- the partitions of one
    b        howdah_internal.cache[];  -- and of the other
    -- For all partitions.
    deadline timestamptz;
BEGIN
    PERFORM howdah_internal._check_name(first), howdah_internal._check_name(second);
    IF howdah_internal._placed() THEN
        RAISE EXCEPTION 'Caches cannot be exchanged in a database on several servers.'
            USING ERRCODE = 'HW004', HINT = 'Let programs use the other cache by its name.';
    END IF;
    -- In the order of the names, as whoever locks rows of several caches.
    a := howdah_internal._lock_rows(least(first COLLATE "C", second));
    b := CASE WHEN first = second THEN a ELSE howdah_internal._lock_rows(greatest(first COLLATE "C", second)) END;
    PERFORM howdah_internal._no_cache(least(first COLLATE "C", second)) WHERE a IS NULL;
    PERFORM howdah_internal._no_cache(greatest(first COLLATE "C", second)) WHERE b IS NULL;
    IF first = second THEN
        RETURN;
    END IF;
    -- These are properties of the tables, which the caches exchange.
    IF (a[1].durability, a[1].fillfactor, a[1].prefix_index, 'near' = ANY (a[1].features), 'log_keys' = ANY (a[1].features))
       <> (b[1].durability, b[1].fillfactor, b[1].prefix_index, 'near' = ANY (b[1].features), 'log_keys' = ANY (b[1].features)) THEN
        RAISE EXCEPTION 'Caches % and % differ in durability, fillfactor, prefix_index, near or log_keys.', quote_literal(first), quote_literal(second)
            USING ERRCODE = 'HW004', HINT = 'Make these settings equal with howdah.alter_cache first.';
    END IF;
    -- A watch invalidates by name what was stored under the other name.
    IF EXISTS (SELECT FROM howdah_internal.watch AS w WHERE w.cache IN (first, second)) THEN
        RAISE EXCEPTION 'Cache % or % has watches of tables.', quote_literal(first), quote_literal(second)
            USING ERRCODE = 'HW004', HINT = 'End them with howdah.unwatch_table, and make them again for the other cache.';
    END IF;

    deadline := clock_timestamp() + interval '2 seconds';
    BEGIN
        -- In the order in which calls on several tables lock them.
        FOR part IN SELECT p.* FROM unnest(a || b) AS p ORDER BY p.id LOOP
            PERFORM howdah_internal._lock_tables(part, 'ACCESS EXCLUSIVE', deadline);
        END LOOP;
    EXCEPTION
        WHEN lock_not_available OR deadlock_detected THEN
            RAISE EXCEPTION 'Cache % or % is in use, and nothing was changed.', quote_literal(first), quote_literal(second)
                USING ERRCODE = 'lock_not_available',
                      HINT = 'A transaction has held one of the tables: try again, or find it in pg_locks and end it.';
    END;
    FOR i IN 1 .. cardinality(a) LOOP
        PERFORM howdah_internal._swap_parts(a[i], b[i]);
    END LOOP;
    PERFORM howdah_internal._create_view(c) FROM howdah_internal.cache AS c WHERE c.name IN (a[1].name, b[1].name);
END
$$;

COMMENT ON FUNCTION howdah.swap_caches(text, text) IS
'Exchanges the entries of two caches, with their expiries, versions and tags, in one
moment for everybody. The settings stay. It runs with the rights of the owner; let a
role call it with GRANT EXECUTE ON FUNCTION howdah.swap_caches(text, text).

Both tables are locked for a moment; the wait for that, in which other users of the
caches wait too, ends after 2 s with 55P03 and no change. The tables get new numbers
for names: a function that waits for the lock in another session fails with 42P01, and programs
send their statements again.

first, second: the caches. They must have the same durability, fillfactor, prefix_index,
near and log_keys, and no watches of tables.

Errors: HW001 not found, HW004 they differ or have watches, 42501 no privilege, 55P03
in use.';

REVOKE ALL ON FUNCTION howdah.swap_caches(text, text) FROM PUBLIC;
