CREATE OR REPLACE FUNCTION howdah.invalidate_tags(cache text, tags text[]) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    settings howdah_internal.cache;
    removed  bigint := 0;
BEGIN
    PERFORM howdah_internal._check_isolation();
    FOR settings IN SELECT p.* FROM howdah_internal._partitions(cache) AS p LOOP
        PERFORM howdah_internal._stay(settings);
        removed := removed + howdah_internal._invalidate_tags(settings, tags);
    END LOOP;
    IF NOT FOUND THEN
        PERFORM howdah_internal._no_cache(cache);
    END IF;
    RETURN removed;
END
$$;

COMMENT ON FUNCTION howdah.invalidate_tags(text, text[]) IS
'howdah.invalidate_tag for many tags at once, all or none.

cache: the name of a cache.
tags: each of 1 to 256 bytes in UTF-8; none NULL. NULL or an empty array: no tags.

Returns how many entries existed; expired ones do not.
Errors: as howdah.invalidate_tag.';

REVOKE ALL ON FUNCTION howdah.invalidate_tags(text, text[]) FROM PUBLIC;
