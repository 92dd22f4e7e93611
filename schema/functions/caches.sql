CREATE OR REPLACE FUNCTION howdah.caches() RETURNS TABLE (
    name              text,
    durability        text,
    default_ttl       interval,
    max_ttl           interval,
    max_bytes         bigint,
    max_entries       bigint,
    eviction          text,
    fillfactor        integer,
    prefix_index      boolean,
    ttl_jitter        integer,
    created_at        timestamptz,
    estimated_entries bigint,
    table_bytes       bigint,
    index_bytes       bigint,
    toast_bytes       bigint,
    near              boolean,
    log_keys          boolean
)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT c.name, c.durability, c.default_ttl, c.max_ttl, c.max_bytes, c.max_entries,
           c.eviction, c.fillfactor, c.prefix_index, c.ttl_jitter, c.created_at,
           greatest(t.reltuples, 0)::bigint,
           pg_relation_size(t.oid),
           pg_indexes_size(t.oid),
           coalesce(pg_total_relation_size(nullif(t.reltoastrelid, 0)), 0),
           'near' = ANY (c.features),
           'log_keys' = ANY (c.features)
    FROM howdah_internal.cache AS c
    LEFT JOIN pg_class AS t
           ON t.relname = 'cache_' || c.id
          AND t.relnamespace = (SELECT n.oid FROM pg_namespace AS n WHERE n.nspname = 'howdah_internal')
    ORDER BY c.name
$$;

COMMENT ON FUNCTION howdah.caches() IS
'The caches with their settings and cheap estimates.

estimated_entries: rows by the statistics of PostgreSQL, expired ones included; 0
before the first analyze. howdah.count counts exactly.
table_bytes, index_bytes, toast_bytes: what they occupy on disk; toast holds the
values that do not fit into a page.
near: whether writes are noted in the change log.
log_keys: whether with the keys.';

REVOKE ALL ON FUNCTION howdah.caches() FROM PUBLIC;
