-- The columns of the tables of doctor_candidates.sql.
SELECT c.oid, a.attnum, a.attname::text, format_type(a.atttypid, NULL), format_type(a.atttypid, a.atttypmod), a.attnotnull,
       coalesce(quote_ident(qn.nspname) || '.' || quote_ident(q.relname), ''),
       coalesce(CASE WHEN has_sequence_privilege(q.oid, 'SELECT, USAGE') THEN pg_sequence_last_value(q.oid) END, 0)
FROM candidate AS c
JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
-- The sequence of a serial or identity column depends on the column.
LEFT JOIN (pg_depend AS d
           JOIN pg_class AS q ON q.oid = d.objid AND q.relkind = 'S'
           JOIN pg_namespace AS qn ON qn.oid = q.relnamespace)
       ON d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass
      AND d.refobjid = c.oid AND d.refobjsubid = a.attnum AND d.deptype IN ('a', 'i')
ORDER BY c.oid, a.attnum
