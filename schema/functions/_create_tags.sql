CREATE OR REPLACE FUNCTION howdah_internal._create_tags(settings howdah_internal.cache) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    name CONSTANT text := 'tag_' || settings.id;
BEGIN
    -- A table with a name of its own is made where that is given.
    IF settings.tag_relation IS NOT NULL OR to_regclass(howdah_internal._tag_table(settings)) IS NOT NULL THEN
        RETURN;
    END IF;
    -- Marks are rows of the hash -1, which no entry has. They are in this table so
    -- that they live exactly as long as the entries: a crash or a flush that removes
    -- the marks voids the claims that they are for.
    EXECUTE format($sql$
        CREATE %1$s TABLE howdah_internal.%2$I (
            hash      bigint NOT NULL,  -- of the entry; -1: the row is the mark of an invalidation
            tag       bigint NOT NULL,  -- howdah.key_hash of the tag in UTF-8; -1: see _sweep_tags
            xid       xid8,             -- of a mark: the last transaction that invalidated the tag
            marked_at timestamptz,      -- of a mark
            CONSTRAINT %3$I PRIMARY KEY (hash, tag)
        ) WITH (
            -- As of the table of a cache.
            autovacuum_vacuum_threshold = 1000,
            autovacuum_vacuum_scale_factor = 0.01,
            autovacuum_vacuum_insert_threshold = 10000,
            autovacuum_vacuum_insert_scale_factor = 0.05,
            autovacuum_analyze_threshold = 1000,
            autovacuum_analyze_scale_factor = 0.05,
            autovacuum_vacuum_cost_delay = 1,
            autovacuum_vacuum_cost_limit = 1000,
            vacuum_truncate = off
        )$sql$,
        CASE WHEN settings.durability = 'unlogged' THEN 'UNLOGGED' ELSE '' END, name, name || '_pkey');
    -- Of one column, so that the many rows of one tag share their key (deduplication).
    EXECUTE format('CREATE INDEX %I ON howdah_internal.%I (tag)', name || '_tag', name);
    PERFORM howdah_internal._own_table(format('howdah_internal.%I', name));
END
$$;

COMMENT ON FUNCTION howdah_internal._create_tags(howdah_internal.cache) IS
'Internal. Makes the table of a cache''s tags, if it is not there. The caller grants.';

REVOKE ALL ON FUNCTION howdah_internal._create_tags(howdah_internal.cache) FROM PUBLIC;
