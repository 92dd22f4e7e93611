CREATE OR REPLACE FUNCTION howdah_internal._follow(settings jsonb, emptied text[] DEFAULT '{}') RETURNS integer
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
-- No NOTICE of a view or a table that somebody has dropped before.
SET client_min_messages = warning
AS $$
DECLARE
    old     howdah_internal.cache;
    new     howdah_internal.cache;
    changed text[] := '{}';  -- names of caches
    number  integer := 0;
BEGIN
    PERFORM howdah_internal._check_admin();
    PERFORM FROM howdah.meta AS m FOR UPDATE;  -- one follows at a time
    FOR old IN
        SELECT c.* FROM howdah_internal.cache AS c
        WHERE NOT EXISTS (SELECT FROM jsonb_populate_recordset(NULL::howdah_internal.cache, settings) AS s WHERE s.name = c.name)
        ORDER BY c.name COLLATE "C" FOR UPDATE
    LOOP
        DELETE FROM howdah_internal.cache AS c WHERE c.name = old.name;
        DELETE FROM howdah.upkeep AS u WHERE u.cache = old.name;
        EXECUTE format('DROP VIEW IF EXISTS howdah.%I', 'cache_' || old.whole);
        PERFORM howdah_internal._log(old, NULL);
        number := number + 1;
    END LOOP;
    FOR new IN SELECT s.* FROM jsonb_populate_recordset(NULL::howdah_internal.cache, settings) AS s ORDER BY s.name COLLATE "C" LOOP
        SELECT c.* INTO old FROM howdah_internal.cache AS c WHERE c.name = new.name FOR UPDATE;
        -- These are facts of the server that holds the partition.
        new.full_since := old.full_since;
        new.events := coalesce(old.events, new.events);
        IF old IS NOT DISTINCT FROM new THEN
            PERFORM howdah_internal._log(old, NULL) WHERE new.whole = ANY (emptied);
            CONTINUE;
        END IF;
        number := number + 1;
        IF old.name IS NULL THEN
            INSERT INTO howdah_internal.cache SELECT new.*;
        ELSE
            -- Under the former id: who keeps entries of it in memory drops them.
            PERFORM howdah_internal._log(old, NULL);
            DELETE FROM howdah_internal.cache AS c WHERE c.name = new.name;
            INSERT INTO howdah_internal.cache SELECT new.*;
        END IF;
        IF (old.id, old.shard) IS DISTINCT FROM (new.id, new.shard) THEN
            changed := changed || new.whole;
        END IF;
    END LOOP;
    FOR new IN SELECT c.* FROM howdah_internal.cache AS c WHERE c.partition = 0 LOOP
        IF new.whole = ANY (changed) OR to_regclass(format('howdah.%I', 'cache_' || new.whole)) IS NULL THEN
            PERFORM howdah_internal._create_view(new);
            PERFORM howdah_internal._grant_cache(new, r.role) FROM howdah.runtime_role AS r;
        END IF;
    END LOOP;
    RETURN number;
END
$$;

COMMENT ON FUNCTION howdah_internal._follow(jsonb, text[]) IS
'Internal. Gives this server the caches of the coordinator.

settings: the rows of howdah_internal.cache there.
emptied: names of caches that were emptied, for who keeps their entries in memory.

Returns how many rows it changed.';

REVOKE ALL ON FUNCTION howdah_internal._follow(jsonb, text[]) FROM PUBLIC;
