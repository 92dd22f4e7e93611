CREATE OR REPLACE FUNCTION howdah_internal._swap_parts(a howdah_internal.cache, b howdah_internal.cache) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
    -- Under the former ids: who keeps entries of them in memory drops them.
    PERFORM howdah_internal._log(a, NULL);
    PERFORM howdah_internal._log(b, NULL);
    UPDATE howdah_internal.cache AS c
    SET id = nextval(pg_get_serial_sequence('howdah_internal.cache', 'id')),
        full_since = NULL  -- upkeep will say so again
    WHERE c.name IN (a.name, b.name);
    -- New ids for both: a program that knows the former ones must not write into the
    -- other cache.
    PERFORM howdah_internal._rename_table(a, c.id) FROM howdah_internal.cache AS c WHERE c.name = b.name;
    PERFORM howdah_internal._rename_table(b, c.id) FROM howdah_internal.cache AS c WHERE c.name = a.name;
    -- After the tables, as a round of upkeep locks them: what it found in one is in the other.
    UPDATE howdah.upkeep AS u
    SET hand = o.hand, chunk = o.chunk, entries = o.entries, bytes = o.bytes
    FROM howdah.upkeep AS o
    WHERE u.cache IN (a.name, b.name) AND o.cache IN (a.name, b.name) AND u.cache <> o.cache;
END
$$;

COMMENT ON FUNCTION howdah_internal._swap_parts(howdah_internal.cache, howdah_internal.cache) IS
'Internal. Exchanges the tables of two caches, or of partitions of the same number. The caller
holds them in ACCESS EXCLUSIVE mode, and makes the views again.';

REVOKE ALL ON FUNCTION howdah_internal._swap_parts(howdah_internal.cache, howdah_internal.cache) FROM PUBLIC;
