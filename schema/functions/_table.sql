-- The casts are explicit so that the expression is immutable, and PostgreSQL puts it in
-- the place of the call.
CREATE OR REPLACE FUNCTION howdah_internal._table(settings howdah_internal.cache) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN coalesce(settings.relation, 'howdah_internal.cache_'::text || settings.id::text);

COMMENT ON FUNCTION howdah_internal._table(howdah_internal.cache) IS
'Internal. The name of the table of a cache or of one of its partitions, with its schema and quoted.';

REVOKE ALL ON FUNCTION howdah_internal._table(howdah_internal.cache) FROM PUBLIC;
