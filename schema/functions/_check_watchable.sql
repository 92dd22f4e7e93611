CREATE OR REPLACE FUNCTION howdah_internal._check_watchable(relation regclass) RETURNS regclass
LANGUAGE plpgsql STABLE
AS $$
DECLARE
    watched record;
BEGIN
    SELECT c.relkind, c.relpersistence, c.relowner, pg_get_userbyid(c.relowner) AS owner, n.nspname AS schema INTO watched
    FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE c.oid = relation;
    IF NOT FOUND OR watched.relkind NOT IN ('r', 'p') OR watched.relpersistence = 't'
       OR watched.schema IN ('howdah', 'howdah_internal', 'pg_catalog', 'information_schema') THEN
        RAISE EXCEPTION '% is not a table that can be watched.', coalesce(relation::text, 'NULL')
            USING ERRCODE = 'wrong_object_type',
                  HINT = 'Name a table or a partitioned table. For a view, watch the tables that it reads; for a foreign table, watch the table where it is.';
    ELSIF EXISTS (
        WITH RECURSIVE child AS (
            SELECT i.inhrelid AS oid FROM pg_inherits AS i WHERE i.inhparent = relation
            UNION
            SELECT i.inhrelid FROM child AS p JOIN pg_inherits AS i ON i.inhparent = p.oid)
        SELECT FROM child AS h JOIN pg_class AS c ON c.oid = h.oid WHERE c.relkind = 'f') THEN
        RAISE EXCEPTION 'Table % has a foreign table as a partition, and cannot be watched.', relation
            USING ERRCODE = 'wrong_object_type',
                  HINT = 'PostgreSQL cannot show a trigger the rows of a foreign partition. Watch the other partitions one by one.';
    ELSIF NOT pg_has_role(current_user, watched.relowner, 'USAGE') THEN
        RAISE EXCEPTION 'Role % may not watch table %.', quote_ident(current_user), relation
            USING ERRCODE = 'insufficient_privilege', HINT = format('Connect as %I, the owner of the table.', watched.owner);
    ELSIF NOT coalesce(
        CASE WHEN has_schema_privilege(watched.relowner, 'howdah_internal', 'USAGE') THEN
            has_function_privilege(watched.relowner, 'howdah_internal._note_watch(text,text,bytea[],text[],text)', 'EXECUTE')
            AND has_column_privilege(watched.relowner, 'howdah_internal.watch_note', 'keys', 'INSERT')
        END, false) THEN
        RAISE EXCEPTION 'Role %, the owner of table %, may not use the caches.', quote_ident(watched.owner), relation
            USING ERRCODE = 'insufficient_privilege',
                  HINT = format('SELECT howdah.grant_runtime(%L), as the owner of the schema howdah.', watched.owner);
    END IF;
    RETURN relation;
END
$$;

COMMENT ON FUNCTION howdah_internal._check_watchable(regclass) IS
'Internal. Returns the table, or raises 42809 (not a table of an application) or 42501
(not the current role''s, or its owner may not use the caches).';

REVOKE ALL ON FUNCTION howdah_internal._check_watchable(regclass) FROM PUBLIC;
