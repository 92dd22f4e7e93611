CREATE OR REPLACE FUNCTION howdah_internal._own_table(relation text) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    owner name := (SELECT pg_get_userbyid(n.nspowner) FROM pg_namespace AS n WHERE n.nspname = 'howdah');
BEGIN
    IF owner <> current_user THEN
        EXECUTE format('ALTER TABLE %s OWNER TO %I', relation, owner);
    END IF;
END
$$;

COMMENT ON FUNCTION howdah_internal._own_table(text) IS
'Internal. Gives a table or view, named with its schema and quoted, to the owner of
the schema, also when an administrator made it.';

REVOKE ALL ON FUNCTION howdah_internal._own_table(text) FROM PUBLIC;
