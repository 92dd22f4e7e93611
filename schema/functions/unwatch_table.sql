CREATE OR REPLACE FUNCTION howdah.unwatch_table(relation text, cache text) RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
-- While DROP TRIGGER waits for its lock, every user of the table waits behind it.
-- Longer than deadlock_timeout (1 s), at which an autovacuum in the way gives up.
SET lock_timeout = '2s'
AS $$
DECLARE
    tbl   CONSTANT regclass := to_regclass(unwatch_table.relation);
    part  record;
    found boolean := false;
BEGIN
    FOR part IN
        SELECT w.id, w.function::regprocedure AS function, w.triggers
        FROM howdah_internal._watches() AS w
        WHERE w.cache = unwatch_table.cache AND CASE WHEN tbl IS NULL THEN w.shown = unwatch_table.relation ELSE w.relation = tbl END
    LOOP
        found := true;
        FOR i IN 1 .. coalesce(cardinality(part.triggers), 0) LOOP
            EXECUTE format('DROP TRIGGER %I ON %s', part.triggers[i], tbl);
        END LOOP;
        IF part.function IS NOT NULL THEN
            EXECUTE format('DROP FUNCTION %s', part.function);
        END IF;
        DELETE FROM howdah_internal.watch AS w WHERE w.id = part.id;
    END LOOP;
    RETURN found;
EXCEPTION
    WHEN lock_not_available THEN
        RAISE EXCEPTION 'Table % is in use, and nothing was changed.', relation
            USING ERRCODE = 'lock_not_available',
                  HINT = 'A transaction has held it for 2 s: try again, or find it in pg_locks and end it.';
END
$$;

COMMENT ON FUNCTION howdah.unwatch_table(text, text) IS
'Ends the watch of a table. Only the owner of the table may.

relation: the table, with its schema, as in ''public.articles''. A table that was dropped
goes by the name that it had.
cache: the cache whose entries the watch invalidates.

Returns true if there was such a watch.
Errors: 42501 no privilege, 55P03 in use.';

REVOKE ALL ON FUNCTION howdah.unwatch_table(text, text) FROM PUBLIC;
