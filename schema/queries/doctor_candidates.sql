-- Begins doctor_relations.sql, doctor_columns.sql and doctor_indexes.sql: the
-- tables of the caches and of the sessions, and those elsewhere that have a column
-- for a payload. The tables of extensions are not those of the user, and what
-- repairs a table does not repair a partition.
--   $1 names of columns for payloads, a regular expression
WITH candidate AS (
    SELECT c.* FROM pg_class AS c
    JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE c.relkind = 'r' AND c.relpersistence <> 't'
      AND NOT EXISTS (SELECT FROM pg_inherits AS i WHERE i.inhrelid = c.oid)
      AND n.nspname NOT LIKE 'pg\_%' AND n.nspname <> 'information_schema'
      AND n.nspname !~ '^howdah_p[0-9]{2}$'  -- what Citus has placed is changed by way of Citus only
      AND CASE WHEN n.nspname = 'howdah' THEN c.relname = 'session'
               WHEN n.nspname = 'howdah_internal' THEN c.relname LIKE 'cache\_%'
               ELSE EXISTS (SELECT FROM pg_attribute AS a
                            WHERE a.attrelid = c.oid AND a.attnum > 0 AND a.attname ~* $1) END
      AND NOT EXISTS (SELECT FROM pg_depend AS d
                      WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')
)
