-- The indexes of the tables of doctor_candidates.sql.
SELECT c.oid, ic.relname::text, '', am.amname::text, i.indisunique, i.indisprimary,
       i.indisreplident OR EXISTS (SELECT FROM pg_constraint AS k WHERE k.conindid = ic.oid), i.indisvalid,
       pg_relation_size(ic.oid), coalesce(s.idx_scan, 0),
       ARRAY(SELECT k FROM unnest(i.indkey::smallint[]) AS k WHERE k > 0
             UNION
             SELECT d.refobjsubid::smallint FROM pg_depend AS d
             WHERE d.classid = 'pg_class'::regclass AND d.objid = ic.oid
               AND d.refclassid = 'pg_class'::regclass AND d.refobjid = c.oid AND d.refobjsubid > 0
             ORDER BY 1),
       concat_ws(' ', am.amname, i.indnkeyatts, i.indkey, i.indclass, i.indcollation, i.indoption,
                 pg_get_expr(i.indexprs, i.indrelid), pg_get_expr(i.indpred, i.indrelid)),
       ic.oid
FROM candidate AS c
JOIN pg_index AS i ON i.indrelid = c.oid
JOIN pg_class AS ic ON ic.oid = i.indexrelid
JOIN pg_am AS am ON am.oid = ic.relam
LEFT JOIN pg_stat_all_indexes AS s ON s.indexrelid = ic.oid
ORDER BY c.oid, ic.oid
