CREATE OR REPLACE FUNCTION howdah_internal._watch_body(id text, cache text, alias text, key text, tag text) RETURNS text
LANGUAGE plpgsql IMMUTABLE
AS $$
DECLARE
    -- What is changed is the old rows and the new ones. One more than counts says
    -- that there are too many, and DISTINCT spills to disk: a statement on millions
    -- of rows takes no more memory. No entry has a longer key or tag.
    keys   CONSTANT text := $sql$
                SELECT coalesce(array_agg(convert_to(d.howdah_item, 'UTF8')), '{}') INTO howdah_keys
                FROM (SELECT DISTINCT i.howdah_item FROM (%s) AS i
                      WHERE i.howdah_item IS NOT NULL AND octet_length(convert_to(i.howdah_item, 'UTF8')) <= 65536 LIMIT 1001) AS d;$sql$;
    tags   CONSTANT text := $sql$
                SELECT coalesce(array_agg(d.howdah_item), '{}') INTO howdah_tags
                FROM (SELECT DISTINCT i.howdah_item FROM (%s) AS i
                      WHERE i.howdah_item IS NOT NULL AND octet_length(convert_to(i.howdah_item, 'UTF8')) BETWEEN 1 AND 256 LIMIT 1001) AS d;$sql$;
    rows   CONSTANT text := $sql$
                    SELECT unnest(%3$s) AS howdah_item FROM %1$s AS %2$I$sql$;
    source text;
    items  text[] := '{}';  -- the statements for INSERT, UPDATE and DELETE
BEGIN
    FOREACH source IN ARRAY ARRAY['new_rows', 'old_rows,new_rows', 'old_rows'] LOOP
        items := items || (
            SELECT string_agg(format(e.statement, (
                       SELECT string_agg(format(rows, s.name, alias, howdah_internal._watch_keys(e.expression)),
                                         E'\n                    UNION ALL')
                       FROM unnest(string_to_array(source, ',')) AS s (name))), '')
            FROM (VALUES (keys, key), (tags, tag)) AS e (statement, expression)
            WHERE e.expression IS NOT NULL);
    END LOOP;
    RETURN format($body$
#variable_conflict use_column
DECLARE
    howdah_keys    bytea[] := '{}';
    howdah_tags    text[]  := '{}';
    howdah_failure text;
BEGIN
    -- A copy of the table may be where Howdah is not, or its owner may have lost the
    -- right to use it. That must not stop those who work with the table. By the name
    -- alone: to parse the types of arguments takes much longer.
    IF NOT coalesce(
        CASE WHEN has_schema_privilege(to_regnamespace('howdah_internal'), 'USAGE') THEN
            has_function_privilege(to_regproc('howdah_internal._note_watch'), 'EXECUTE')
        END, false) THEN
        RAISE WARNING 'Entries of cache %% may be out of date now.', %2$L
            USING HINT = format('Role %%I, the owner of %%s, may not use Howdah''s caches, or there are none. howdah.unwatch_table ends the watch.', current_user, TG_RELID::regclass);
        RETURN NULL;
    END IF;
    IF TG_OP = 'TRUNCATE' THEN
        howdah_keys := NULL;
    ELSE
        BEGIN
            IF TG_OP = 'INSERT' THEN%3$s
            ELSIF TG_OP = 'UPDATE' THEN%4$s
            ELSE%5$s
            END IF;
        EXCEPTION
            WHEN OTHERS OR assert_failure THEN
                IF SQLSTATE LIKE '40%%' THEN
                    RAISE;  -- to be repeated
                END IF;
                howdah_keys := NULL;
                howdah_failure := SQLSTATE || ': ' || SQLERRM;
        END;
        IF howdah_keys = '{}' AND howdah_tags = '{}' THEN
            RETURN NULL;
        END IF;
    END IF;
    PERFORM howdah_internal._note_watch(%1$L, %2$L, howdah_keys, howdah_tags, howdah_failure);
    RETURN NULL;
END
$body$, id, cache, items[1], items[2], items[3]);
END
$$;

COMMENT ON FUNCTION howdah_internal._watch_body(text, text, text, text, text) IS
'Internal. The text of the function of a watch. It calls nothing of Howdah''s but
_note_watch, because it is never upgraded.';

REVOKE ALL ON FUNCTION howdah_internal._watch_body(text, text, text, text, text) FROM PUBLIC;
