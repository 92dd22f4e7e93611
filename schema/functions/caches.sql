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
    SELECT coalesce(c.whole, c.name), min(c.durability), min(c.default_ttl), min(c.max_ttl), sum(c.max_bytes)::bigint, sum(c.max_entries)::bigint,
           min(c.eviction), min(c.fillfactor), bool_and(c.prefix_index), min(c.ttl_jitter), min(c.created_at),
           sum(greatest(t.reltuples, 0))::bigint,
           sum(pg_relation_size(t.oid))::bigint,
           sum(pg_indexes_size(t.oid))::bigint,
           sum(coalesce(pg_total_relation_size(nullif(t.reltoastrelid, 0)), 0))::bigint,
           bool_and('near' = ANY (c.features)),
           bool_and('log_keys' = ANY (c.features))
    FROM howdah_internal.cache AS c
    LEFT JOIN LATERAL howdah_internal._class(to_regclass(howdah_internal._table(c))) AS t ON howdah_internal._is_here(c)
    GROUP BY coalesce(c.whole, c.name)
    ORDER BY coalesce(c.whole, c.name)
$$;

COMMENT ON FUNCTION howdah.caches() IS
'The caches with their settings and cheap estimates, those of all partitions together.

estimated_entries: rows by the statistics of PostgreSQL, expired ones included; 0
before the first analyze. howdah.count counts exactly.
table_bytes, index_bytes, toast_bytes: what they occupy on disk; toast holds the
values that do not fit into a page.
near: whether writes are noted in the change log.
log_keys: whether with the keys.';

REVOKE ALL ON FUNCTION howdah.caches() FROM PUBLIC;
