-- What must be alike on all servers: the version of the schema, the functions, the seed, the
-- number of partitions, and the caches, as a hash. And what this server holds: about so many
-- entries, bytes on disk, and tables that lack storage parameters.
SELECT (SELECT coalesce(max(g.version), 0) FROM howdah.migration AS g),
       m.functions_digest,
       m.seed,
       m.partitions,
       (SELECT coalesce(md5(string_agg((to_jsonb(c) - '{full_since,events,created_at}'::text[])::text, '' ORDER BY c.name COLLATE "C")), '')
        FROM howdah_internal.cache AS c),
       h.entries,
       h.bytes,
       h.lacking
FROM howdah.meta AS m
CROSS JOIN (
    SELECT coalesce(sum(coalesce(nullif(pg_stat_get_live_tuples(t.oid), 0), greatest(t.reltuples, 0))), 0)::bigint AS entries, coalesce(sum(pg_total_relation_size(t.oid)), 0)::bigint AS bytes,
           count(*) FILTER (WHERE howdah_internal._toast_lacks(c) IS NOT NULL)::integer AS lacking
    FROM howdah_internal.cache AS c
    CROSS JOIN LATERAL howdah_internal._class(to_regclass(howdah_internal._table(c))) AS t
    WHERE howdah_internal._is_here(c)) AS h
