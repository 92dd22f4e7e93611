CREATE OR REPLACE FUNCTION howdah_internal._unwatch(relation text, tbl regclass, cache text, schemas name[]) RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
-- While DROP TRIGGER waits for its lock, every user of the table waits behind it.
-- Longer than deadlock_timeout (1 s), at which an autovacuum in the way gives up.
SET lock_timeout = '2s'
AS $$
DECLARE
    gone  text[];  -- the names, as format('%I.%I') writes them, that a table that is gone may have had
    part  record;
    found boolean := false;
BEGIN
    IF tbl IS NOT NULL THEN
        gone := ARRAY[(SELECT format('%I.%I', n.nspname, c.relname) FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE c.oid = tbl)];
    ELSIF relation !~ '^[0-9]+$' THEN
        gone := CASE cardinality(parse_ident(relation))
                WHEN 1 THEN ARRAY(SELECT format('%I.%I', s, (parse_ident(relation))[1]) FROM unnest(schemas) AS s)
                ELSE ARRAY[format('%I.%I', (parse_ident(relation))[1], (parse_ident(relation))[2])] END;
    END IF;
    FOR part IN
        SELECT w.id, w.function::regprocedure AS function, w.triggers, w.relation::regclass AS relation
        FROM howdah_internal._watches() AS w
        WHERE w.cache = _unwatch.cache AND CASE WHEN w.relation IS NULL THEN w.shown = ANY (gone) ELSE w.relation = tbl END
    LOOP
        found := true;
        FOR i IN 1 .. coalesce(cardinality(part.triggers), 0) LOOP
            EXECUTE format('DROP TRIGGER %I ON %s', part.triggers[i], part.relation);
        END LOOP;
        IF part.function IS NOT NULL THEN
            EXECUTE format('DROP FUNCTION %s', part.function);
        END IF;
        DELETE FROM howdah_internal.watch AS w WHERE w.id = part.id;
    END LOOP;
    RETURN found;
EXCEPTION
    WHEN lock_not_available THEN
        RAISE EXCEPTION 'Table % is in use, and nothing was changed.', coalesce(tbl::text, relation)
            USING ERRCODE = 'lock_not_available',
                  HINT = 'A transaction has held it for 2 s: try again, or find it in pg_locks and end it.';
END
$$;

COMMENT ON FUNCTION howdah_internal._unwatch(text, regclass, text, name[]) IS
'Internal. Does what howdah.unwatch_table does.

relation: what its caller gave.
tbl: the table that this means by the caller''s search_path; NULL: there is none.
schemas: those in which a table that is gone may have been, if relation names none.';

REVOKE ALL ON FUNCTION howdah_internal._unwatch(text, regclass, text, name[]) FROM PUBLIC;
