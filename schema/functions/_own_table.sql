CREATE OR REPLACE FUNCTION howdah._own_table(name text) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    owner name := (SELECT pg_get_userbyid(n.nspowner) FROM pg_namespace AS n WHERE n.nspname = 'howdah');
BEGIN
    IF owner <> current_user THEN
        EXECUTE format('ALTER TABLE howdah.%I OWNER TO %I', 'cache_' || name, owner);
    END IF;
END
$$;

COMMENT ON FUNCTION howdah._own_table(text) IS
'Internal. Gives the table of a cache to the owner of the schema, also when an
administrator made it.';

REVOKE ALL ON FUNCTION howdah._own_table(text) FROM PUBLIC;
