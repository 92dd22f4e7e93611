-- A watch is what its triggers are; the row in howdah_internal.watch says what it was
-- made of. Either may be missing: after a restore of some tables only, or of others.
CREATE OR REPLACE FUNCTION howdah_internal._watches() RETURNS TABLE (
    id       text,
    relation oid,      -- NULL: the table is gone, or its triggers are
    shown    text,     -- the table's name, or the one that it had
    cache    text,
    function oid,
    triggers name[],
    disabled name[],
    able     boolean   -- the owner of the function may use the caches
)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT coalesce(w.id, f.id), f.relation, coalesce(f.relation::regclass::text, w.relation), coalesce(w.cache, f.cache),
           f.function, f.triggers, f.disabled, coalesce(f.able, false)
    FROM howdah_internal.watch AS w
    FULL JOIN (
        SELECT substr(p.proname, 14) AS id, p.oid AS function, t.tgrelid AS relation,
               min(regexp_replace(t.tgname, '^howdah_(.*)_[a-z]+$', '\1')) AS cache,
               array_agg(t.tgname ORDER BY t.tgname) FILTER (WHERE t.oid IS NOT NULL) AS triggers,
               array_agg(t.tgname ORDER BY t.tgname) FILTER (WHERE t.tgenabled IN ('D', 'R')) AS disabled,
               bool_and(CASE WHEN has_schema_privilege(p.proowner, 'howdah_internal', 'USAGE') THEN
                   has_function_privilege(p.proowner, 'howdah_internal._note_watch(text,text,bytea[],text[],text)', 'EXECUTE')
                   AND has_column_privilege(p.proowner, 'howdah_internal.watch_note', 'keys', 'INSERT') END) AS able
        FROM pg_proc AS p
        LEFT JOIN pg_trigger AS t ON t.tgfoid = p.oid AND NOT t.tgisinternal
        WHERE p.proname ~ '^howdah_watch_[0-9a-f]{12}$' AND p.prosecdef
        GROUP BY p.oid, p.proname, p.proowner, t.tgrelid
    ) AS f ON f.id = w.id
$$;

COMMENT ON FUNCTION howdah_internal._watches() IS
'Internal. The watches, by their triggers and by howdah_internal.watch.';

REVOKE ALL ON FUNCTION howdah_internal._watches() FROM PUBLIC;
