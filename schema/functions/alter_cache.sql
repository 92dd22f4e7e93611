CREATE OR REPLACE FUNCTION howdah.alter_cache(
    name         text,
    durability   text     DEFAULT NULL,
    default_ttl  interval DEFAULT NULL,
    max_ttl      interval DEFAULT NULL,
    max_bytes    bigint   DEFAULT NULL,
    max_entries  bigint   DEFAULT NULL,
    eviction     text     DEFAULT NULL,
    fillfactor   integer  DEFAULT NULL,
    prefix_index boolean  DEFAULT NULL,
    reset        text[]   DEFAULT '{}',
    empty        boolean  DEFAULT false,
    ttl_jitter   integer  DEFAULT NULL,
    near         boolean  DEFAULT NULL,
    log_keys     boolean  DEFAULT NULL
) RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
-- While ALTER waits for its lock, every other user of the cache waits behind it.
-- Longer than deadlock_timeout (1 s), at which an autovacuum in the way gives up.
SET lock_timeout = '2s'
AS $$
DECLARE
    tbl     text;
    tags    text;
    -- What each setting is when nothing is said, as in howdah.create_cache.
    initial CONSTANT jsonb := '{
        "durability": "unlogged", "default_ttl": null, "max_ttl": null,
        "max_bytes": null, "max_entries": null, "eviction": "allkeys-lru",
        "fillfactor": 85, "prefix_index": false, "ttl_jitter": 0, "near": false, "log_keys": false}';
    given   CONSTANT jsonb := jsonb_strip_nulls(jsonb_build_object(
        'durability', durability, 'default_ttl', default_ttl, 'max_ttl', max_ttl,
        'max_bytes', max_bytes, 'max_entries', max_entries, 'eviction', eviction,
        'fillfactor', fillfactor, 'prefix_index', prefix_index, 'ttl_jitter', ttl_jitter, 'near', near, 'log_keys', log_keys));
    setting text;
    before  howdah_internal.cache;
    after   howdah_internal.cache;
    rewrite boolean;  -- the class changes between a table that is logged and one that is not
    logged  boolean;  -- writes are to be noted in the change log
    named   boolean;  -- with their keys
    turn    boolean;  -- one of these changes
BEGIN
    PERFORM howdah_internal._check_name(name);
    PERFORM howdah_internal._check_admin();
    FOREACH setting IN ARRAY coalesce(reset, '{}') LOOP
        IF setting IS NULL OR NOT initial ? setting OR given ? setting THEN
            RAISE EXCEPTION 'Setting % cannot be reset.', coalesce(quote_literal(setting), 'NULL')
                USING ERRCODE = 'HW004',
                      HINT = 'Name settings of howdah.create_cache, and give a setting or reset it, not both.';
        END IF;
    END LOOP;

    -- Waits for another alter_cache of this cache.
    SELECT c.* INTO before FROM howdah_internal.cache AS c WHERE c.name = alter_cache.name FOR UPDATE;
    IF NOT FOUND THEN
        PERFORM howdah_internal._settings(name);  -- raises HW001
    END IF;
    tbl := format('howdah_internal.%I', 'cache_' || before.id);
    tags := format('howdah_internal.%I', 'tag_' || before.id);
    after := jsonb_populate_record(
        before,
        given || (SELECT coalesce(jsonb_object_agg(d.key, d.value), '{}')
                  FROM jsonb_each(initial) AS d WHERE d.key = ANY (reset)));
    -- Without a log there are no keys in it.
    logged := coalesce(near, 'near' = ANY (before.features) AND 'near' <> ALL (coalesce(reset, '{}')));
    named := coalesce(log_keys, logged AND 'log_keys' = ANY (before.features) AND 'log_keys' <> ALL (coalesce(reset, '{}')));
    turn := (logged, named) <> ('near' = ANY (before.features), 'log_keys' = ANY (before.features));
    after.features := array_remove(array_remove(before.features, 'near'), 'log_keys')
                      || CASE WHEN logged THEN '{near}' ELSE '{}' END::text[] || CASE WHEN named THEN '{log_keys}' ELSE '{}' END::text[];
    PERFORM howdah_internal._check_settings(after);
    rewrite := (after.durability = 'unlogged') <> (before.durability = 'unlogged');

    -- Once, and the strongest that is needed.
    BEGIN
        EXECUTE format('LOCK TABLE %s, %s IN %s MODE', tbl, tags, CASE
            WHEN empty OR rewrite OR turn OR before.prefix_index AND NOT after.prefix_index THEN 'ACCESS EXCLUSIVE'
            WHEN after.prefix_index AND NOT before.prefix_index THEN 'SHARE'
            WHEN after.fillfactor <> before.fillfactor THEN 'SHARE UPDATE EXCLUSIVE'
            ELSE 'ACCESS SHARE' END);
    EXCEPTION
        WHEN lock_not_available THEN
            RAISE EXCEPTION 'Cache % is in use, and nothing was changed.', quote_literal(name)
                USING ERRCODE = 'lock_not_available',
                      HINT = 'A transaction has held its table for 2 s: try again, or find it in pg_locks and end it.';
    END;

    UPDATE howdah_internal.cache AS c
    SET durability = after.durability, default_ttl = after.default_ttl, max_ttl = after.max_ttl,
        max_bytes = after.max_bytes, max_entries = after.max_entries, eviction = after.eviction,
        fillfactor = after.fillfactor, prefix_index = after.prefix_index,
        ttl_jitter = after.ttl_jitter,
        full_since = NULL  -- upkeep will say so again
    WHERE c.name = after.name;

    IF empty THEN
        EXECUTE format('TRUNCATE %s, %s', tbl, tags);
    END IF;
    IF after.fillfactor <> before.fillfactor THEN
        EXECUTE format('ALTER TABLE %s SET (fillfactor = %s)', tbl, after.fillfactor);
    END IF;
    IF rewrite THEN
        EXECUTE format('ALTER TABLE %s SET %s', tbl,
                       CASE after.durability WHEN 'unlogged' THEN 'UNLOGGED' ELSE 'LOGGED' END);
        EXECUTE format('ALTER TABLE %s SET %s', tags,
                       CASE after.durability WHEN 'unlogged' THEN 'UNLOGGED' ELSE 'LOGGED' END);
    END IF;
    IF after.prefix_index AND NOT before.prefix_index THEN
        PERFORM howdah_internal._create_prefix_index(before.id);
    ELSIF before.prefix_index AND NOT after.prefix_index THEN
        EXECUTE format('DROP INDEX howdah_internal.%I', 'cache_' || before.id || '_prefix');
    END IF;
    IF empty OR turn THEN
        -- Under the former id: who keeps entries of it in memory drops them.
        PERFORM howdah_internal._log(before, NULL);
    END IF;
    IF turn THEN
        PERFORM howdah_internal._turn_log(after);
    END IF;
END
$$;

COMMENT ON FUNCTION howdah.alter_cache(text, text, interval, interval, bigint, bigint, text, integer, boolean, text[], boolean, integer, boolean, boolean) IS
'Changes settings of a cache. Only the owner of the schema may. New TTL settings
hold for later writes; entries keep their expiry.

A change between unlogged and the other classes rewrites the table, and a new
prefix index reads it all: the cache is locked as long as that takes, about a
second for each hundred megabytes. The wait for that lock, in which other
users of the cache wait too, ends after 2 s with 55P03 and no change. With
empty => true there is nothing to rewrite and the lock is short. No write that was
acknowledged before or meanwhile is lost, but by empty. To turn near or log_keys on or off
takes the same lock for a moment, and gives the table another name: no program goes
on with statements that were made for the other state.

name: the cache.
durability, default_ttl, max_ttl, max_bytes, max_entries, eviction, fillfactor,
prefix_index, ttl_jitter, near, log_keys: as in howdah.create_cache; NULL: unchanged.
To turn near off turns log_keys off too.
reset: names of settings that go back to the default of howdah.create_cache, as
in ''{max_ttl,max_bytes}''.
empty: true empties the cache at the same time.

Errors: HW001 not found, HW002 invalid name, HW004 invalid setting, 42501 no
privilege, 55P03 in use.';

REVOKE ALL ON FUNCTION howdah.alter_cache(text, text, interval, interval, bigint, bigint, text, integer, boolean, text[], boolean, integer, boolean, boolean)
    FROM PUBLIC;
