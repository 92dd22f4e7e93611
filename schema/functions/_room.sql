CREATE OR REPLACE FUNCTION howdah_internal._room(settings howdah_internal.cache) RETURNS void
LANGUAGE plpgsql STABLE
AS $$
BEGIN
    IF settings.full_since IS NOT NULL THEN
        RAISE EXCEPTION 'Cache % is over its budget and may evict nothing.', quote_literal(howdah_internal._shown_name(settings))
            USING ERRCODE = 'HW011',
                  HINT = 'Delete entries, or change max_bytes, max_entries or eviction with howdah.alter_cache.';
    END IF;
END
$$;

COMMENT ON FUNCTION howdah_internal._room(howdah_internal.cache) IS
'Internal. Raises HW011 while upkeep says that the cache is full. Every verb that
needs room asks; reads and deletes do not.';

REVOKE ALL ON FUNCTION howdah_internal._room(howdah_internal.cache) FROM PUBLIC;
