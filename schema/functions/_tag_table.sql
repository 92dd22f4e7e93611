-- As howdah_internal._table.
CREATE OR REPLACE FUNCTION howdah_internal._tag_table(settings howdah_internal.cache) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN coalesce(settings.tag_relation, 'howdah_internal.tag_'::text || settings.id::text);

COMMENT ON FUNCTION howdah_internal._tag_table(howdah_internal.cache) IS
'Internal. The name of the table of tags of a cache or of one of its partitions, with its schema and quoted.';

REVOKE ALL ON FUNCTION howdah_internal._tag_table(howdah_internal.cache) FROM PUBLIC;
