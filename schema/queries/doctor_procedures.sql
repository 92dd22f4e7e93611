-- Functions and procedures of the users that delete rows, and whether a COMMIT may
-- stand in them.
SELECT p.oid::regprocedure::text, coalesce(pg_get_function_sqlbody(p.oid), p.prosrc), pg_get_functiondef(p.oid),
       p.prokind = 'p' AND l.lanname = 'plpgsql' AND NOT p.prosecdef AND p.proconfig IS NULL
FROM pg_proc AS p
JOIN pg_namespace AS n ON n.oid = p.pronamespace
JOIN pg_language AS l ON l.oid = p.prolang
WHERE p.prokind IN ('f', 'p') AND l.lanname IN ('sql', 'plpgsql')
  AND n.nspname NOT LIKE 'pg\_%' AND n.nspname NOT IN ('information_schema', 'howdah', 'howdah_internal')
  AND coalesce(pg_get_function_sqlbody(p.oid), p.prosrc) ~* '\mdelete\s+from\M'
  AND NOT EXISTS (SELECT FROM pg_depend AS d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e')
