CREATE OR REPLACE FUNCTION howdah_internal._refuse_program() RETURNS SETOF howdah_internal.cache
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
    RAISE EXCEPTION 'This database was upgraded to schema 6, which this program does not know: upgrade the program.'
        USING ERRCODE = 'HW015', HINT = 'Its calls of caches fail until then; its sessions go on.';
END
$$;

COMMENT ON FUNCTION howdah_internal._refuse_program() IS
'Internal. Raises HW015: a program for schema 5 or older reads the settings of a cache.';

REVOKE ALL ON FUNCTION howdah_internal._refuse_program() FROM PUBLIC;

-- Where programs for schema 5 and older read the settings of a cache.
CREATE OR REPLACE VIEW howdah.cache AS
SELECT c.name, c.durability, c.default_ttl, c.max_ttl, c.max_bytes, c.max_entries, c.eviction, c.fillfactor,
       c.prefix_index, c.created_at, c.full_since, c.ttl_jitter
FROM howdah_internal._refuse_program() AS c;

COMMENT ON VIEW howdah.cache IS
    'For programs older than this schema: it tells them so (HW015). The settings are what howdah.caches() returns.';
