-- PL/pgSQL keeps the plan for the session.
CREATE OR REPLACE FUNCTION howdah_internal._tag_table_of(id integer) RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE
AS $$
BEGIN
    -- Where the cache has another id by now, there is no table of the name: 42P01, as
    -- whoever was called with a former id expects.
    RETURN coalesce((SELECT c.tag_relation FROM howdah_internal.cache AS c WHERE c.id = _tag_table_of.id),
                    'howdah_internal.tag_' || id);
END
$$;

COMMENT ON FUNCTION howdah_internal._tag_table_of(integer) IS
'Internal. howdah_internal._tag_table for functions that statements of programs call with
the id of a cache.';

REVOKE ALL ON FUNCTION howdah_internal._tag_table_of(integer) FROM PUBLIC;
