CREATE OR REPLACE FUNCTION howdah_internal._grant_cache(settings howdah_internal.cache, role name) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
    -- A role may have been dropped since it was recorded.
    IF EXISTS (SELECT FROM pg_roles AS r WHERE r.rolname = role) THEN
        -- TRUNCATE is what howdah.flush does when nobody is in its way.
        IF settings.shard IS NULL THEN  -- else howdah_internal._grant_places
            EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE, TRUNCATE ON %s, %s TO %I',
                           howdah_internal._table(settings), howdah_internal._tag_table(settings), role);
        END IF;
        EXECUTE format('GRANT SELECT ON howdah.%I TO %I', 'cache_' || howdah_internal._shown_name(settings), role);
    END IF;
END
$$;

COMMENT ON FUNCTION howdah_internal._grant_cache(howdah_internal.cache, name) IS
'Internal. Lets a role use the tables of a cache, and look at its view.';

REVOKE ALL ON FUNCTION howdah_internal._grant_cache(howdah_internal.cache, name) FROM PUBLIC;
