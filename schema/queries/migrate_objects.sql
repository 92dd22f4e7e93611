-- What is in the schemas howdah and howdah_internal and goes with nothing else,
-- and whether it is ours: a function or a table that this program makes, or the
-- tables or the view of a cache. Before schema 16 there are neither columns nor functions
-- for partitions.
--   $1 signatures of functions, $2 names of tables and views
SELECT o.type, o.identity,
       coalesce(CASE d.classid
           WHEN 'pg_class'::regclass THEN
               o.type IN ('table', 'view') AND (
                   o.identity = ANY ($2::text[])
                   OR o.identity IN (SELECT 'howdah.' || quote_ident('cache_' || coalesce(to_jsonb(c) ->> 'whole', c.name)) FROM howdah_internal.cache AS c
                                     UNION ALL SELECT 'howdah_internal.cache_' || c.id FROM howdah_internal.cache AS c
                                     UNION ALL SELECT 'howdah_internal.tag_' || c.id FROM howdah_internal.cache AS c))
           WHEN 'pg_proc'::regclass THEN
               d.objid IN (SELECT to_regprocedure(f.signature)::oid
                           FROM unnest($1::text[]) AS f (signature))
           ELSE false
       END, false)
FROM pg_depend AS d, pg_identify_object(d.classid, d.objid, d.objsubid) AS o
WHERE d.refclassid = 'pg_namespace'::regclass
  AND d.refobjid IN (SELECT oid FROM pg_namespace WHERE nspname IN ('howdah', 'howdah_internal'))
  AND d.deptype = 'n'
  -- The sequence of an identity column goes with it.
  AND NOT EXISTS (SELECT FROM pg_depend AS i
                  WHERE i.classid = d.classid AND i.objid = d.objid AND i.deptype = 'i')
ORDER BY o.type, o.identity
