CREATE OR REPLACE FUNCTION howdah._create_prefix_index(name text) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
    -- The first 1024 bytes: an index entry must stay under a third of a page.
    EXECUTE format('CREATE INDEX %I ON howdah.%I (substring(key FROM 1 FOR 1024))',
                   'cache_' || name || '_prefix', 'cache_' || name);
END
$$;

COMMENT ON FUNCTION howdah._create_prefix_index(text) IS
'Internal. Makes the index by which a cache finds keys by prefix.';

REVOKE ALL ON FUNCTION howdah._create_prefix_index(text) FROM PUBLIC;
