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
    a howdah_internal.cache;
    b howdah_internal.cache;
BEGIN
    PERFORM howdah_internal._check_name(first), howdah_internal._check_name(second);
    -- In the order of the names, as whoever locks rows of several caches.
    PERFORM FROM howdah_internal.cache AS c WHERE c.name IN (first, second) ORDER BY c.name COLLATE "C" FOR UPDATE;
    a := howdah_internal._settings(least(first COLLATE "C", second));  -- raises HW001
    b := howdah_internal._settings(greatest(first COLLATE "C", second));
    IF first = second THEN
        RETURN;
    END IF;
    -- These are properties of the tables, which the caches exchange.
    IF (a.durability, a.fillfactor, a.prefix_index, 'near' = ANY (a.features), 'log_keys' = ANY (a.features))
       <> (b.durability, b.fillfactor, b.prefix_index, 'near' = ANY (b.features), 'log_keys' = ANY (b.features)) THEN
        RAISE EXCEPTION 'Caches % and % differ in durability, fillfactor, prefix_index, near or log_keys.', quote_literal(first), quote_literal(second)
            USING ERRCODE = 'HW004', HINT = 'Make these settings equal with howdah.alter_cache first.';
    END IF;
    -- A watch invalidates by name what was stored under the other name.
    IF EXISTS (SELECT FROM howdah_internal.watch AS w WHERE w.cache IN (first, second)) THEN
        RAISE EXCEPTION 'Cache % or % has watches of tables.', quote_literal(first), quote_literal(second)
            USING ERRCODE = 'HW004', HINT = 'End them with howdah.unwatch_table, and make them again for the other cache.';
    END IF;

    BEGIN
        EXECUTE format('LOCK TABLE howdah_internal.cache_%s, howdah_internal.tag_%1$s, howdah_internal.cache_%s, howdah_internal.tag_%2$s '
                       'IN ACCESS EXCLUSIVE MODE', a.id, b.id);
    EXCEPTION
        WHEN lock_not_available OR deadlock_detected THEN
            RAISE EXCEPTION 'Cache % or % is in use, and nothing was changed.', quote_literal(first), quote_literal(second)
                USING ERRCODE = 'lock_not_available',
                      HINT = 'A transaction has held one of the tables: try again, or find it in pg_locks and end it.';
    END;
    -- Under the former ids: who keeps entries of them in memory drops them.
    PERFORM howdah_internal._log(a, NULL);
    PERFORM howdah_internal._log(b, NULL);
    UPDATE howdah_internal.cache AS c
    SET id = nextval(pg_get_serial_sequence('howdah_internal.cache', 'id')),
        full_since = NULL  -- upkeep will say so again
    WHERE c.name IN (first, second);
    -- New ids for both: a program that knows the former ones must not write into the
    -- other cache.
    PERFORM howdah_internal._rename_table(a.id, (howdah_internal._settings(b.name)).id);
    PERFORM howdah_internal._rename_table(b.id, (howdah_internal._settings(a.name)).id);
    PERFORM howdah_internal._create_view(howdah_internal._settings(c.name))
    FROM (VALUES (a.name), (b.name)) AS c (name);
    -- After the tables, as a round of upkeep locks them: what it found in one is in the other.
    UPDATE howdah.upkeep AS u
    SET hand = o.hand, chunk = o.chunk, entries = o.entries, bytes = o.bytes
    FROM howdah.upkeep AS o
    WHERE u.cache IN (first, second) AND o.cache IN (first, second) AND u.cache <> o.cache;
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
