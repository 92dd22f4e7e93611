CREATE OR REPLACE FUNCTION howdah_internal._named(settings howdah_internal.cache) RETURNS howdah_internal.cache
LANGUAGE plpgsql STABLE
AS $$
BEGIN
    IF settings.partition IS NOT NULL AND howdah_internal._placed() THEN
        settings.relation := format('howdah_p%s.cache_%s', lpad(settings.partition::text, 2, '0'), settings.id);
        settings.tag_relation := format('howdah_p%s.tag_%s', lpad(settings.partition::text, 2, '0'), settings.id);
    END IF;
    RETURN settings;
END
$$;

COMMENT ON FUNCTION howdah_internal._named(howdah_internal.cache) IS
'Internal. The settings with the names by which Citus knows the tables: what changes them by
these names changes them wherever they are.';

REVOKE ALL ON FUNCTION howdah_internal._named(howdah_internal.cache) FROM PUBLIC;
