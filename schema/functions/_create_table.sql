CREATE OR REPLACE FUNCTION howdah_internal._create_table(settings howdah_internal.cache) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
    -- Fixed-width columns first: no padding between them. One index only, on
    -- nothing that an update changes, so updates stay heap-only (HOT).
    EXECUTE format($sql$
        CREATE %1$s TABLE %2$s (
            hash          bigint      NOT NULL,            -- howdah.key_hash(key)
            version       bigint      NOT NULL,            -- increases with every write
            expires_at    timestamptz NOT NULL,            -- infinity: does not expire
            leased_until  timestamptz NOT NULL DEFAULT '-infinity',  -- somebody loads a new value
            accessed      integer     NOT NULL DEFAULT 0,  -- coarse access time, minutes; of an absent key: watched until
            stale_seconds integer     NOT NULL DEFAULT 0,  -- may be served so long after it expired
            frequency     smallint    NOT NULL DEFAULT 0,  -- LFU counter
            kind          smallint    NOT NULL DEFAULT 0,  -- 0: a string
            key           bytea       NOT NULL,
            value         bytea       NOT NULL,
            CONSTRAINT %3$I PRIMARY KEY (hash)
        ) WITH (
            -- Room on each page for the next version of its rows.
            fillfactor = %4$s,

            -- Deletes and expiry leave dead index entries: clean after 1 %% of
            -- the rows and a bit, not after the stock 20 %%.
            autovacuum_vacuum_threshold = 1000,
            autovacuum_vacuum_scale_factor = 0.01,
            -- A cache that only grows needs its visibility map and freezing too.
            autovacuum_vacuum_insert_threshold = 10000,
            autovacuum_vacuum_insert_scale_factor = 0.05,
            -- Row counts feed howdah.caches() and the plans of scans.
            autovacuum_analyze_threshold = 1000,
            autovacuum_analyze_scale_factor = 0.05,
            -- Ten times the stock pace: a slow vacuum of a churning table never
            -- catches up. Still paced: neighbours share the disk.
            autovacuum_vacuum_cost_delay = 1,
            autovacuum_vacuum_cost_limit = 1000,
            -- Giving pages back to the system takes an ACCESS EXCLUSIVE lock;
            -- a cache fills them again anyway.
            vacuum_truncate = off,

            -- The same for the values that are stored out of line.
            toast.autovacuum_vacuum_threshold = 1000,
            toast.autovacuum_vacuum_scale_factor = 0.01,
            toast.autovacuum_vacuum_insert_threshold = 10000,
            toast.autovacuum_vacuum_insert_scale_factor = 0.05,
            toast.autovacuum_vacuum_cost_delay = 1,
            toast.autovacuum_vacuum_cost_limit = 1000,
            toast.vacuum_truncate = off
        )$sql$,
        CASE WHEN settings.durability = 'unlogged' THEN 'UNLOGGED' ELSE '' END,
        howdah_internal._table(settings),
        'cache_' || settings.id || '_pkey',
        settings.fillfactor);

    -- EXTERNAL: what is too long for the page goes out of line as it is. Trying
    -- to compress every such value costs more than it saves: applications that
    -- care compress already, and reads need no decompression.
    -- STATISTICS 0: the planner needs none of key and value, and what users
    -- cache must not end up in pg_statistic.
    EXECUTE format($sql$
        ALTER TABLE %s
            ALTER COLUMN key   SET STORAGE EXTERNAL,
            ALTER COLUMN key   SET STATISTICS 0,
            ALTER COLUMN value SET STORAGE EXTERNAL,
            ALTER COLUMN value SET STATISTICS 0$sql$,
        howdah_internal._table(settings));

    PERFORM howdah_internal._own_table(howdah_internal._table(settings));
    PERFORM howdah_internal._create_tags(settings);
    IF settings.prefix_index THEN
        PERFORM howdah_internal._create_prefix_index(settings);
    END IF;
END
$$;

COMMENT ON FUNCTION howdah_internal._create_table(howdah_internal.cache) IS
'Internal. Makes the tables of a cache or of one of its partitions, with their storage
settings. The caller makes the view, and grants.';

REVOKE ALL ON FUNCTION howdah_internal._create_table(howdah_internal.cache) FROM PUBLIC;
