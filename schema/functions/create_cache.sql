CREATE OR REPLACE FUNCTION howdah.create_cache(
    name          text,
    durability    text     DEFAULT 'unlogged',
    default_ttl   interval DEFAULT NULL,
    max_ttl       interval DEFAULT NULL,
    max_bytes     bigint   DEFAULT NULL,
    max_entries   bigint   DEFAULT NULL,
    eviction      text     DEFAULT 'allkeys-lru',
    fillfactor    integer  DEFAULT 85,
    prefix_index  boolean  DEFAULT false,
    ttl_jitter    integer  DEFAULT 0,
    if_not_exists boolean  DEFAULT false,
    near          boolean  DEFAULT false,
    id            integer  DEFAULT NULL,
    log_keys      boolean  DEFAULT false
) RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    settings howdah_internal.cache;
    part     howdah_internal.cache;
    divided  smallint;  -- into so many partitions; 0: into none
BEGIN
    PERFORM howdah_internal._check_name(name);
    PERFORM howdah_internal._check_admin(), howdah_internal._check_alone();
    settings.name := name;
    settings.durability := durability;
    settings.default_ttl := default_ttl;
    settings.max_ttl := max_ttl;
    settings.max_bytes := max_bytes;
    settings.max_entries := max_entries;
    settings.eviction := eviction;
    settings.fillfactor := fillfactor;
    settings.prefix_index := prefix_index;
    settings.ttl_jitter := ttl_jitter;
    settings.features := '{kinds}'::text[] || CASE WHEN near THEN '{near}' ELSE '{}' END::text[]
                         || CASE WHEN log_keys THEN '{log_keys}' ELSE '{}' END::text[];
    PERFORM howdah_internal._check_settings(settings);

    -- Whoever divides the database waits for this cache, and this for that.
    SELECT m.partitions INTO divided FROM howdah.meta AS m FOR SHARE;
    IF id IS NOT NULL THEN
        -- Others can neither draw an id nor make this cache until this one is made.
        LOCK TABLE howdah_internal.cache IN SHARE ROW EXCLUSIVE MODE;
        IF NOT EXISTS (SELECT FROM howdah_internal._partitions(name)) THEN
            PERFORM howdah_internal._reserve_id(name, id, greatest(divided, 1));
        END IF;
    END IF;
    FOR number IN 0 .. greatest(divided, 1) - 1 LOOP
        part := settings;
        part.id := id + number;
        IF divided > 0 THEN
            part.name := format('%s/%s', name, lpad(number::text, 2, '0'));
            part.whole := name;
            part.partition := number;
            part.max_bytes := howdah_internal._budget_share(max_bytes, number, divided);
            part.max_entries := howdah_internal._budget_share(max_entries, number, divided);
        END IF;
        IF NOT howdah_internal._create_part(part) THEN
            IF if_not_exists THEN
                RETURN false;
            END IF;
            RAISE EXCEPTION 'Cache % already exists.', quote_literal(create_cache.name)
                USING ERRCODE = 'HW003',
                      HINT = 'Use another name, change it with howdah.alter_cache, or pass if_not_exists => true.';
        END IF;
    END LOOP;
    IF NOT howdah_internal._placed() THEN  -- else the tables go to their servers first
        PERFORM howdah_internal._create_view(part);
        PERFORM howdah_internal._grant_cache(p, r.role)
        FROM howdah_internal._partitions(name) AS p CROSS JOIN howdah.runtime_role AS r;
    END IF;
    RETURN true;
END
$$;

COMMENT ON FUNCTION howdah.create_cache(text, text, interval, interval, bigint, bigint, text, integer, boolean, integer, boolean, boolean, integer, boolean) IS
'Makes a cache. Only the owner of the schema may. The view howdah.cache_<name> shows
its entries; the table behind it has a number for a name, a new one for each cache
that is made. In a database with partitions the cache has a table for each of them, all
made at once; if it is on several servers, the command line makes it: howdah caches create.

name: lower-case letters, digits and underscores, beginning with a letter, at
most 48; not ending in _pkey or _prefix.
durability: unlogged (fastest; empty after a crash or failover), async (survives
a crash but for the last moments, if the writer sets synchronous_commit = off) or
sync (every committed write survives).
default_ttl: the TTL of entries stored without one; NULL: they do not expire.
max_ttl: caps every TTL; NULL: no cap.
max_bytes, max_entries: the budget of the cache; NULL: none. In a database with partitions
each of them has an equal share of it, at least 1, and evicts for itself.
eviction: what gives way beyond the budget, by the names of Redis: noeviction,
allkeys-lru, allkeys-lfu, allkeys-random, volatile-lru, volatile-lfu,
volatile-random, volatile-ttl. Reads through SQL functions write nothing and so do
not count as use; those through the library and the server do.
fillfactor: per cent of a page that inserts fill, from 10 to 100; the rest is room
for updates.
prefix_index: true adds an index on the first 1024 bytes of keys, for caches that
live by howdah.delete_prefix. It makes every insert dearer.
ttl_jitter: by how many per cent, from 0 to 90, the TTL of a stored value is
shortened at random, so that what is stored together does not expire together. It
holds for every TTL that comes with a value, the default and the maximum included;
not for howdah.expire and howdah.touch, and not for a time of day asked for.
if_not_exists: true: a cache that exists is no error, and keeps its settings and id.
near: true notes every write in the change log, so that programs may keep entries in
their own memory and learn what has changed. A write costs a little more.
log_keys: true notes the keys of writes in the change log too, for Redis clients with CLIENT
TRACKING ON BCAST. It needs near.
id: the number in the name of the table, from 1 to 1000000000, so that several databases
can hold one cache under one name of its table; NULL: the next one. In a database with
partitions it is that of the first, and the others follow. It must be higher
than all ids that this database has used, those of dropped caches included. Other
sessions that make or drop caches wait until the transaction ends.

Returns true if it made the cache.
Errors: HW002 invalid name, HW003 exists, HW004 invalid setting, 42501 no privilege,
0A000 several servers.';

REVOKE ALL ON FUNCTION howdah.create_cache(text, text, interval, interval, bigint, bigint, text, integer, boolean, integer, boolean, boolean, integer, boolean)
    FROM PUBLIC;
