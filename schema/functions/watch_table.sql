CREATE OR REPLACE FUNCTION howdah.watch_table(relation regclass, cache text, key text DEFAULT NULL, tag text DEFAULT NULL) RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
-- While CREATE TRIGGER waits for its lock, every writer of the table waits behind it.
-- Longer than deadlock_timeout (1 s), at which an autovacuum in the way gives up.
SET lock_timeout = '2s'
AS $$
DECLARE
    watched  record;
    id       CONSTANT text := left(replace(gen_random_uuid()::text, '-', ''), 12);
    body     text;
    name     text;
BEGIN
    IF howdah_internal._placed() THEN
        RAISE EXCEPTION 'Tables cannot be watched in a database on several servers.'
            USING ERRCODE = 'feature_not_supported', HINT = 'Let the program that changes the table delete or invalidate the entries.';
    END IF;
    IF NOT EXISTS (SELECT FROM howdah_internal._partitions(howdah_internal._check_name(cache))) THEN
        PERFORM howdah_internal._no_cache(cache);
    END IF;
    IF key IS NULL AND tag IS NULL THEN
        RAISE EXCEPTION 'The watch has neither a key nor a tag.'
            USING ERRCODE = 'HW012', HINT = 'Give an expression over the columns of the table, such as ''article:'' || id.';
    END IF;
    SELECT n.nspname AS schema, c.relname AS name, pg_get_userbyid(c.relowner) AS owner INTO watched
    FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE c.oid = howdah_internal._check_watchable(relation);
    PERFORM howdah_internal._check_expression(relation, e.expression)
    FROM unnest(ARRAY[key, tag]) AS e (expression) WHERE e.expression IS NOT NULL;

    PERFORM howdah_internal._unwatch(relation::text, relation, cache, '{}');
    body := howdah_internal._watch_body(id, cache, watched.name, key, tag);
    name := format('%I.%I', watched.schema, 'howdah_watch_' || id);
    BEGIN
        -- With the rights of the table's owner, so that roles without any right on
        -- Howdah may change the table, and the expressions run as no one else. Whoever
        -- changes the table, the same row has the same key, also one made of a date.
        EXECUTE format('CREATE FUNCTION %s() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER '
                       'SET search_path = pg_catalog, pg_temp SET jit = off SET datestyle FROM CURRENT SET intervalstyle FROM CURRENT '
                       'SET timezone FROM CURRENT SET extra_float_digits FROM CURRENT SET bytea_output FROM CURRENT AS %L', name, body);
        EXECUTE format('COMMENT ON FUNCTION %s() IS %L', name,
                       'Made by howdah.watch_table; howdah.unwatch_table removes it.');
        EXECUTE format('REVOKE ALL ON FUNCTION %s() FROM PUBLIC', name);
        EXECUTE format('CREATE TRIGGER %I AFTER INSERT ON %s REFERENCING NEW TABLE AS new_rows '
                       'FOR EACH STATEMENT EXECUTE FUNCTION %s()', 'howdah_' || cache || '_insert', relation, name);
        EXECUTE format('CREATE TRIGGER %I AFTER UPDATE ON %s REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows '
                       'FOR EACH STATEMENT EXECUTE FUNCTION %s()', 'howdah_' || cache || '_update', relation, name);
        EXECUTE format('CREATE TRIGGER %I AFTER DELETE ON %s REFERENCING OLD TABLE AS old_rows '
                       'FOR EACH STATEMENT EXECUTE FUNCTION %s()', 'howdah_' || cache || '_delete', relation, name);
        EXECUTE format('CREATE TRIGGER %I AFTER TRUNCATE ON %s '
                       'FOR EACH STATEMENT EXECUTE FUNCTION %s()', 'howdah_' || cache || '_trunc', relation, name);
        IF watched.owner <> current_user THEN
            EXECUTE format('ALTER FUNCTION %s() OWNER TO %I', name, watched.owner);
        END IF;
    EXCEPTION
        WHEN lock_not_available THEN
            RAISE EXCEPTION 'Table % is in use, and is not watched.', relation
                USING ERRCODE = 'lock_not_available',
                      HINT = 'A transaction has held it for 2 s: try again, or find it in pg_locks and end it.';
    END;
    INSERT INTO howdah_internal.watch (id, relation, cache, key, tag, written)
    VALUES (id, format('%I.%I', watched.schema, watched.name), cache, key, tag,
            pg_stat_get_tuples_inserted(relation) + pg_stat_get_tuples_updated(relation) + pg_stat_get_tuples_deleted(relation));
END
$$;

COMMENT ON FUNCTION howdah.watch_table(regclass, text, text, text) IS
'Watches a table: whatever changes its rows invalidates entries of a cache in the same
transaction, and what was loaded before the commit cannot be stored after it by a claim.
Only the owner of the table may, who must be able to use the caches. Others
need no right on Howdah to change the table. A second watch of the same table and cache
replaces the first. docs/watches.md says what fires and what does not.

relation: a table, also a partitioned one.
cache: the name of a cache.
key: an SQL expression over the columns of the table, as in
$$''article:'' || id$$: a text, the key, or a text[] of several. It is evaluated for the old
and the new row, with the rights of the table''s owner and search_path = pg_catalog: name
functions of your own with their schema. Dates, times, intervals, floats and bytea are
written as in this session (DateStyle, TimeZone and so on), whoever changes the row. NULL
is no key.
tag: likewise, the tags of entries. At least one of key and tag must be given.

If an expression fails for a row, or a transaction changes more than 1,000 keys, the
whole cache is invalidated.

Errors: HW001 cache not found, HW012 neither key nor tag, 42809 not a table, 42501 no
privilege, 42703 or another of class 42 for an expression that is not valid, 55P03 in use.';

REVOKE ALL ON FUNCTION howdah.watch_table(regclass, text, text, text) FROM PUBLIC;
