CREATE OR REPLACE FUNCTION howdah_internal._check_alone() RETURNS void
LANGUAGE plpgsql STABLE
AS $$
BEGIN
    -- Whoever changes all servers, one after the other, says so.
    IF howdah_internal._placed() AND coalesce(current_setting('howdah.all_servers', true), '') <> 'on' THEN
        RAISE EXCEPTION 'This database is on several servers, which a function cannot change.'
            USING ERRCODE = 'feature_not_supported',
                  HINT = 'Use the command line: howdah caches changes caches, and howdah migrate --citus grants; or the library.';
    END IF;
END
$$;

COMMENT ON FUNCTION howdah_internal._check_alone() IS
'Internal. Raises 0A000 if the database is on several servers, unless the caller changes
all of them, with SET LOCAL howdah.all_servers = on.';

REVOKE ALL ON FUNCTION howdah_internal._check_alone() FROM PUBLIC;
