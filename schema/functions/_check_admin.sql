CREATE OR REPLACE FUNCTION howdah_internal._check_admin() RETURNS void
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    owner name := (SELECT pg_get_userbyid(n.nspowner) FROM pg_namespace AS n WHERE n.nspname = 'howdah');
BEGIN
    IF NOT pg_has_role(current_user, owner, 'USAGE') THEN
        RAISE EXCEPTION 'Role % may not create, change or drop caches.', quote_ident(current_user)
            USING ERRCODE = 'insufficient_privilege',
                  HINT = format('Connect as %I, the owner of the schema howdah.', owner);
    END IF;
END
$$;

COMMENT ON FUNCTION howdah_internal._check_admin() IS
'Internal. Raises 42501 unless the current role may act as the owner of the schema.';

REVOKE ALL ON FUNCTION howdah_internal._check_admin() FROM PUBLIC;
