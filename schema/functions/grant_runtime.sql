CREATE OR REPLACE FUNCTION howdah.grant_runtime(role text, create_databases boolean DEFAULT false) RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM howdah_internal._check_admin(), howdah_internal._check_alone();
    IF NOT EXISTS (SELECT FROM pg_roles AS r WHERE r.rolname = role) THEN
        RAISE EXCEPTION 'Role % does not exist.', coalesce(quote_ident(role), 'NULL')
            USING ERRCODE = 'undefined_object',
                  HINT = format('Make it with CREATE ROLE %I LOGIN.', coalesce(role, 'name'));
    END IF;

    PERFORM howdah_internal._grant_runtime(role);
    IF create_databases THEN
        EXECUTE format('GRANT EXECUTE ON FUNCTION howdah.create_database(integer) TO %I', role);
    END IF;

    -- Caches and functions that come later are granted to recorded roles.
    INSERT INTO howdah.runtime_role VALUES (role) ON CONFLICT DO NOTHING;
END
$$;

COMMENT ON FUNCTION howdah.grant_runtime(text, boolean) IS
'Gives an existing role what an application needs and no more: the verbs, and the
rows of every cache there is or will be. It can make, change or drop nothing.
TRUNCATE is among the rights because howdah.flush truncates.

role: the name of the role, as it is in pg_roles.
create_databases: true also lets it make the caches db1 to db15 through
howdah.create_database.

Errors: 42704 no such role, 42501 no privilege.';

REVOKE ALL ON FUNCTION howdah.grant_runtime(text, boolean) FROM PUBLIC;
