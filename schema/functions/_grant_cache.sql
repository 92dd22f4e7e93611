CREATE OR REPLACE FUNCTION howdah._grant_cache(name text, role name) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
    -- A role may have been dropped since it was recorded.
    IF EXISTS (SELECT FROM pg_roles AS r WHERE r.rolname = role) THEN
        -- TRUNCATE is what howdah.flush does when nobody is in its way.
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE, TRUNCATE ON howdah.%I TO %I',
                       'cache_' || name, role);
    END IF;
END
$$;

COMMENT ON FUNCTION howdah._grant_cache(text, name) IS
'Internal. Lets a role use the table of a cache.';

REVOKE ALL ON FUNCTION howdah._grant_cache(text, name) FROM PUBLIC;
