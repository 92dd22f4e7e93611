CREATE OR REPLACE FUNCTION howdah_internal._shown_name(settings howdah_internal.cache) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN coalesce(settings.whole, settings.name);

COMMENT ON FUNCTION howdah_internal._shown_name(howdah_internal.cache) IS
'Internal. The name by which events and errors call a cache: of a partition, that of the whole cache.';

REVOKE ALL ON FUNCTION howdah_internal._shown_name(howdah_internal.cache) FROM PUBLIC;
