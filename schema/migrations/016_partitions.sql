-- A database may divide the keys of its caches into partitions, each with tables of its
-- own, so that they can lie on several servers. A partition of the cache db0 is a row of
-- howdah_internal.cache with a name that no cache can have: db0/05. Without partitions
-- nothing changes, and programs of schema 15 go on; in a database with partitions they
-- find no cache.

ALTER TABLE howdah.meta
    ADD COLUMN partitions smallint NOT NULL DEFAULT 0
        CONSTRAINT meta_partitions_check CHECK (partitions IN (0, 2, 4, 8, 16, 32, 64));

COMMENT ON COLUMN howdah.meta.partitions IS
    'Into how many partitions the keys of each cache are divided; 0: none. Set it by "howdah migrate --partitions" only, before there are entries.';

ALTER TABLE howdah_internal.cache
    DROP CONSTRAINT cache_name_check,
    ADD COLUMN whole        text,      -- the cache that this is a partition of; NULL: of none
    ADD COLUMN partition    smallint,  -- its number, from 0
    -- Names of tables that are not made of the id, with their schema and quoted: those of
    -- shards. NULL: made of the id.
    ADD COLUMN relation     text,
    ADD COLUMN tag_relation text,
    ADD COLUMN shard        bigint,    -- of the table, by its number in Citus; NULL: the table does not move
    ADD CONSTRAINT cache_name_check CHECK (
        CASE WHEN partition IS NULL THEN name ~ '^[a-z][a-z0-9_]{0,47}$' AND name !~ '_(pkey|prefix)$' AND whole IS NULL
             ELSE partition BETWEEN 0 AND 63 AND name = whole || '/' || lpad(partition::text, 2, '0') END),
    ADD CONSTRAINT cache_relation_check CHECK ((relation IS NULL) = (tag_relation IS NULL) AND (relation IS NOT NULL OR shard IS NULL));

COMMENT ON COLUMN howdah_internal.cache.whole IS
    'The cache that this row is a partition of; NULL: the database has no partitions.';

CREATE INDEX cache_whole ON howdah_internal.cache (whole) WHERE whole IS NOT NULL;

-- Functions whose arguments change. Those of this program's version are made after the
-- migrations.
DROP FUNCTION IF EXISTS
    howdah_internal._settings(text),
    howdah_internal._share(integer, bigint),
    howdah_internal._add_tags(integer, bigint, bigint[]),
    howdah_internal._replace_tags(integer, bigint, bigint[]),
    howdah_internal._create_prefix_index(integer),
    howdah_internal._rename_table(integer, integer),
    howdah_internal._reserve_id(text, integer);
