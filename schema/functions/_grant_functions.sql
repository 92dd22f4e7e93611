CREATE OR REPLACE FUNCTION howdah._grant_functions(role name) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    verb regprocedure;
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles AS r WHERE r.rolname = role) THEN
        RETURN;  -- dropped since it was recorded
    END IF;
    FOR verb IN
        SELECT p.oid
        FROM pg_proc AS p
        JOIN pg_namespace AS n ON n.oid = p.pronamespace
        WHERE n.nspname = 'howdah'
          AND NOT p.prosecdef
          AND p.proname <> ALL (ARRAY[
              'create_cache', 'alter_cache', 'drop_cache', 'grant_runtime', 'revoke_runtime',
              '_create_table', '_create_prefix_index', '_own_table',
              '_check_admin', '_check_settings', '_grant_cache', '_grant_functions', '_grant_upkeep'])
    LOOP
        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %I', verb, role);
    END LOOP;
    PERFORM howdah._grant_upkeep(role);
END
$$;

COMMENT ON FUNCTION howdah._grant_functions(name) IS
'Internal. Lets a role call the verbs and what they are made of, but nothing that
makes, changes or drops caches, and nothing that runs with the owner''s rights.';

REVOKE ALL ON FUNCTION howdah._grant_functions(name) FROM PUBLIC;
