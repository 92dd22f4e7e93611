CREATE OR REPLACE FUNCTION howdah_internal._turn_log(settings howdah_internal.cache) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    new integer;
BEGIN
    UPDATE howdah_internal.cache AS c
    SET id = nextval(pg_get_serial_sequence('howdah_internal.cache', 'id')),
        features = settings.features
    WHERE c.name = settings.name
    RETURNING c.id INTO new;
    PERFORM howdah_internal._rename_table(settings, new);
END
$$;

COMMENT ON FUNCTION howdah_internal._turn_log(howdah_internal.cache) IS
'Internal. Turns the change log of a cache, or its keys, on or off, as the features of
the settings say, and gives the cache another id: statements that were made for the
former state fail with 42P01, instead of writing past the log. The caller holds the tables in ACCESS EXCLUSIVE mode.';

REVOKE ALL ON FUNCTION howdah_internal._turn_log(howdah_internal.cache) FROM PUBLIC;
