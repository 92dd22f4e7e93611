CREATE OR REPLACE FUNCTION howdah_internal._settings(cache text) RETURNS howdah_internal.cache
LANGUAGE plpgsql STABLE PARALLEL SAFE
AS $$
DECLARE
    settings howdah_internal.cache;
BEGIN
    SELECT c.* INTO settings FROM howdah_internal.cache AS c WHERE c.name = _settings.cache;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'Cache % does not exist.', quote_literal(howdah_internal._check_name(cache))
            USING ERRCODE = 'HW001',
                  HINT = format('Make it with SELECT howdah.create_cache(%L).', cache);
    END IF;
    RETURN settings;
END
$$;

COMMENT ON FUNCTION howdah_internal._settings(text) IS
'Internal. The settings of a cache, or HW001 (not found), HW002 (not a name).
Every verb calls it, so no unknown name ever reaches dynamic SQL.';

REVOKE ALL ON FUNCTION howdah_internal._settings(text) FROM PUBLIC;
