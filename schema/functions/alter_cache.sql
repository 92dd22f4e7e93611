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
    -- What each setting is when nothing is said, as in howdah.create_cache.
    initial CONSTANT jsonb := '{
        "durability": "unlogged", "default_ttl": null, "max_ttl": null,
        "max_bytes": null, "max_entries": null, "eviction": "allkeys-lru",
        "fillfactor": 85, "prefix_index": false, "ttl_jitter": 0, "near": false, "log_keys": false}';
    given   CONSTANT jsonb := jsonb_strip_nulls(jsonb_build_object(
        'durability', durability, 'default_ttl', default_ttl, 'max_ttl', max_ttl,
        'max_bytes', max_bytes, 'max_entries', max_entries, 'eviction', eviction,
        'fillfactor', fillfactor, 'prefix_index', prefix_index, 'ttl_jitter', ttl_jitter, 'near', near, 'log_keys', log_keys));
    changes jsonb;
    setting text;
    before  howdah_internal.cache[];
    after   howdah_internal.cache[];
    -- For all partitions.
    deadline timestamptz;
BEGIN
    PERFORM howdah_internal._check_name(name);
    PERFORM howdah_internal._check_admin(), howdah_internal._check_alone();
    FOREACH setting IN ARRAY coalesce(reset, '{}') LOOP
        IF setting IS NULL OR NOT initial ? setting OR given ? setting THEN
            RAISE EXCEPTION 'Setting % cannot be reset.', coalesce(quote_literal(setting), 'NULL')
                USING ERRCODE = 'HW004',
                      HINT = 'Name settings of howdah.create_cache, and give a setting or reset it, not both.';
        END IF;
    END LOOP;
    changes := given || (SELECT coalesce(jsonb_object_agg(d.key, d.value), '{}') FROM jsonb_each(initial) AS d WHERE d.key = ANY (reset));

    before := howdah_internal._lock_rows(name);
    IF before IS NULL THEN
        PERFORM howdah_internal._no_cache(name);
    END IF;
    SELECT array_agg(howdah_internal._altered(b, changes, cardinality(before)) ORDER BY b.partition) INTO after
    FROM unnest(before) AS b;
    IF howdah_internal._placed() AND (before[1].durability = 'unlogged') <> (after[1].durability = 'unlogged') THEN
        RAISE EXCEPTION 'Cache % cannot become %: it is on several servers.', quote_literal(name), after[1].durability
            USING ERRCODE = 'HW004', HINT = 'Make another cache of that durability, or drop this one and make it again.';
    END IF;
    -- By the names that Citus knows, if it has placed them.
    SELECT array_agg(howdah_internal._named(b) ORDER BY b.partition) INTO before FROM unnest(before) AS b;
    SELECT array_agg(howdah_internal._named(a) ORDER BY a.partition) INTO after FROM unnest(after) AS a;
    deadline := clock_timestamp() + interval '2 seconds';
    BEGIN
        FOR i IN 1 .. cardinality(before) LOOP
            PERFORM howdah_internal._lock_tables(before[i], howdah_internal._alter_mode(before[i], after[i], empty), deadline);
        END LOOP;
    EXCEPTION
        WHEN lock_not_available THEN
            RAISE EXCEPTION 'Cache % is in use, and nothing was changed.', quote_literal(name)
                USING ERRCODE = 'lock_not_available',
                      HINT = 'A transaction has held its table for 2 s: try again, or find it in pg_locks and end it.';
    END;
    FOR i IN 1 .. cardinality(before) LOOP
        PERFORM howdah_internal._alter_part(before[i], after[i], empty);
    END LOOP;
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
In a database with partitions all of them are changed, or none.

Errors: HW001 not found, HW002 invalid name, HW004 invalid setting, 42501 no
privilege, 55P03 in use, 0A000 several servers: howdah caches alter.';

REVOKE ALL ON FUNCTION howdah.alter_cache(text, text, interval, interval, bigint, bigint, text, integer, boolean, text[], boolean, integer, boolean, boolean)
    FROM PUBLIC;
