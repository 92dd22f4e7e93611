-- PostgreSQL 15.20, and what is as new, adds no column with a default to a table
-- whose row type is used by a function that was parsed when it was made. Such
-- functions become text until the functions of this version replace them.
DO $$
DECLARE
    item record;
BEGIN
    FOR item IN
        SELECT pg_get_functiondef(p.oid) AS definition, pg_get_function_sqlbody(p.oid) AS body
        FROM pg_proc AS p
        WHERE p.pronamespace IN (SELECT n.oid FROM pg_namespace AS n WHERE n.nspname IN ('howdah', 'howdah_internal'))
          AND pg_get_function_sqlbody(p.oid) LIKE 'RETURN %'
          AND EXISTS (SELECT FROM pg_depend AS d
                      JOIN pg_type AS t ON t.oid = d.refobjid
                      JOIN pg_class AS c ON c.oid = t.typrelid AND c.relkind IN ('r', 'p')
                      WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.refclassid = 'pg_type'::regclass)
    LOOP
        EXECUTE replace(item.definition, item.body, 'AS ' || quote_literal('SELECT ' || substr(item.body, 8)));
    END LOOP;
END
$$;
