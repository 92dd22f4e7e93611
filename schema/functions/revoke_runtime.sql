CREATE OR REPLACE FUNCTION howdah.revoke_runtime(role text) RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    there    CONSTANT boolean := EXISTS (SELECT FROM pg_roles AS r WHERE r.rolname = role);
    recorded boolean;
    place    text;  -- a schema of tables that Citus has placed
    watched  text;  -- tables whose watches would do nothing any more
BEGIN
    PERFORM howdah_internal._check_admin(), howdah_internal._check_alone();
    DELETE FROM howdah.runtime_role AS r WHERE r.role = revoke_runtime.role;
    recorded := FOUND;
    -- A role may have been dropped since it was recorded.
    IF there THEN
        EXECUTE format('REVOKE ALL ON ALL TABLES IN SCHEMA howdah, howdah_internal FROM %I', role);
        EXECUTE format('REVOKE ALL ON ALL FUNCTIONS IN SCHEMA howdah, howdah_internal FROM %I', role);
        EXECUTE format('REVOKE ALL ON SCHEMA howdah, howdah_internal FROM %I', role);
        FOR place IN SELECT s.nspname FROM pg_namespace AS s WHERE howdah_internal._placed() AND s.nspname ~ '^howdah_p[0-9]{2}$' LOOP
            EXECUTE format('REVOKE ALL ON ALL TABLES IN SCHEMA %I FROM %I', place, role);
            EXECUTE format('REVOKE ALL ON SCHEMA %I FROM %I', place, role);
        END LOOP;
        watched := (SELECT string_agg(w.shown, ', ' ORDER BY w.shown)
                    FROM howdah_internal._watches() AS w JOIN pg_proc AS p ON p.oid = w.function
                    WHERE w.relation IS NOT NULL AND NOT w.able AND pg_get_userbyid(p.proowner) = role);
        IF watched IS NOT NULL THEN
            RAISE EXCEPTION 'Role % owns tables that are watched: %.', quote_ident(role), watched
                USING ERRCODE = 'dependent_objects_still_exist',
                      HINT = 'End the watches first, with howdah.unwatch_table. SELECT * FROM howdah.watches() lists them.';
        END IF;
    ELSIF NOT recorded THEN
        RAISE EXCEPTION 'Role % does not exist.', coalesce(quote_ident(role), 'NULL')
            USING ERRCODE = 'undefined_object', HINT = 'Give the name of a role as it is in pg_roles.';
    END IF;
    RETURN recorded;
END
$$;

COMMENT ON FUNCTION howdah.revoke_runtime(text) IS
'Takes back what howdah.grant_runtime gave: the role may use nothing in the schema
any more, neither what is there nor what comes later. Sessions of the role that are
connected fail from the next statement on. A superuser, and a member of the owning
role, needs no grant and keeps its rights.

role: the name of the role, as it is in pg_roles.

Returns true if the role had been granted to.
Errors: 42704 no such role, 42501 no privilege, 2BP01 it owns watched tables.';

REVOKE ALL ON FUNCTION howdah.revoke_runtime(text) FROM PUBLIC;
