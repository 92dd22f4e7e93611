-- Privileges on the schemas of Howdah and what is in them, of roles that do not own
-- them.
WITH object AS (
    SELECT format('SCHEMA %I', n.nspname) AS name, n.nspowner AS owner, n.nspacl AS acl
    FROM pg_namespace AS n WHERE n.nspname IN ('howdah', 'howdah_internal')
    UNION ALL
    SELECT format('TABLE %I.%I', n.nspname, c.relname), c.relowner, c.relacl
    FROM pg_class AS c
    JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE n.nspname IN ('howdah', 'howdah_internal') AND c.relkind IN ('r', 'v')
)
SELECT o.name, CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END, a.privilege_type, a.is_grantable
FROM object AS o CROSS JOIN LATERAL aclexplode(o.acl) AS a
WHERE a.grantee <> o.owner
ORDER BY 1, 2, 3
