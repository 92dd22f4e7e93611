CREATE OR REPLACE FUNCTION howdah_internal._grant_places() RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    part record;
BEGIN
    PERFORM howdah_internal._check_admin();
    FOR part IN
        SELECT s.nspname AS schema, r.role
        FROM pg_namespace AS s CROSS JOIN howdah.runtime_role AS r
        JOIN pg_roles AS p ON p.rolname = r.role
        WHERE s.nspname ~ '^howdah_p[0-9]{2}$' AND NOT has_schema_privilege(r.role, s.oid, 'USAGE')
    LOOP
        EXECUTE format('GRANT USAGE ON SCHEMA %I TO %I', part.schema, part.role);
    END LOOP;
    FOR part IN
        SELECT n.relation, n.tag_relation, r.role
        FROM (SELECT (howdah_internal._named(c)).* FROM howdah_internal.cache AS c WHERE c.partition IS NOT NULL) AS n
        CROSS JOIN howdah.runtime_role AS r
        JOIN pg_roles AS p ON p.rolname = r.role
        WHERE NOT has_table_privilege(r.role, n.relation, 'TRUNCATE') OR NOT has_table_privilege(r.role, n.tag_relation, 'TRUNCATE')
    LOOP
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE, TRUNCATE ON %s, %s TO %I', part.relation, part.tag_relation, part.role);
    END LOOP;
END
$$;

COMMENT ON FUNCTION howdah_internal._grant_places() IS
'Internal. Gives the roles that run applications what they need on tables that Citus has placed,
on all servers. It runs on the coordinator with citus.enable_ddl_propagation.';

REVOKE ALL ON FUNCTION howdah_internal._grant_places() FROM PUBLIC;
