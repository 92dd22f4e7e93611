CREATE OR REPLACE FUNCTION howdah_internal._create_prefix_index(settings howdah_internal.cache) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
    -- The first 1024 bytes: an index entry must stay under a third of a page.
    EXECUTE format('CREATE INDEX %I ON %s (substring(key FROM 1 FOR 1024))',
                   'cache_' || settings.id || '_prefix', howdah_internal._table(settings));
END
$$;

COMMENT ON FUNCTION howdah_internal._create_prefix_index(howdah_internal.cache) IS
'Internal. Makes the index by which a cache finds keys by prefix.';

REVOKE ALL ON FUNCTION howdah_internal._create_prefix_index(howdah_internal.cache) FROM PUBLIC;
