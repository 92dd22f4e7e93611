CREATE OR REPLACE FUNCTION howdah_internal._no_cache(cache text) RETURNS void
LANGUAGE plpgsql STABLE PARALLEL SAFE
AS $$
BEGIN
    RAISE EXCEPTION 'Cache % does not exist.', quote_literal(howdah_internal._check_name(cache))
        USING ERRCODE = 'HW001',
              HINT = format('Make it with SELECT howdah.create_cache(%L).', cache);
END
$$;

COMMENT ON FUNCTION howdah_internal._no_cache(text) IS
'Internal. Raises HW001 (not found) or HW002 (not a name). Whoever is given the name of a cache
looks for its settings first, so no unknown name ever reaches dynamic SQL.';

REVOKE ALL ON FUNCTION howdah_internal._no_cache(text) FROM PUBLIC;
