CREATE OR REPLACE FUNCTION howdah_internal._create_prefix_index(id integer) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
    -- The first 1024 bytes: an index entry must stay under a third of a page.
    EXECUTE format('CREATE INDEX %I ON howdah_internal.%I (substring(key FROM 1 FOR 1024))',
                   'cache_' || id || '_prefix', 'cache_' || id);
END
$$;

COMMENT ON FUNCTION howdah_internal._create_prefix_index(integer) IS
'Internal. Makes the index by which a cache finds keys by prefix.';

REVOKE ALL ON FUNCTION howdah_internal._create_prefix_index(integer) FROM PUBLIC;
