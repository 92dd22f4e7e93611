CREATE OR REPLACE FUNCTION howdah_internal._mark_full(settings howdah_internal.cache, entries bigint, size bigint, stuck boolean)
RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    -- Full from the budget on; not full again below 98 % of it.
    level CONSTANT float8 := CASE WHEN settings.full_since IS NULL THEN 1.0 ELSE 0.98 END;
    "full" CONSTANT boolean := stuck AND coalesce(
        greatest(entries::float8 / settings.max_entries, size::float8 / settings.max_bytes) >= level, false);
BEGIN
    IF "full" <> (settings.full_since IS NOT NULL) THEN
        -- Somebody who alters the cache is not waited for.
        UPDATE howdah_internal.cache AS c
        SET full_since = CASE WHEN "full" THEN statement_timestamp() END
        WHERE c.name = (SELECT l.name FROM howdah_internal.cache AS l WHERE l.name = settings.name FOR UPDATE SKIP LOCKED);
    END IF;
END
$$;

COMMENT ON FUNCTION howdah_internal._mark_full(howdah_internal.cache, bigint, bigint, boolean) IS
'Internal. Notes that a cache is full, or no longer. stuck: its policy allows, or
finds, nothing to evict.';

REVOKE ALL ON FUNCTION howdah_internal._mark_full(howdah_internal.cache, bigint, bigint, boolean) FROM PUBLIC;
