-- What Howdah's tables and the others of this database take, in one row: bytes on disk as
-- of the last VACUUM or ANALYZE of each table, and blocks that were read from disk and
-- found in shared_buffers since the statistics were reset. No table is opened.
SELECT coalesce(sum(t.bytes) FILTER (WHERE t.ours), 0)::bigint,
       coalesce(sum(t.blocks_read) FILTER (WHERE t.ours), 0)::bigint,
       coalesce(sum(t.blocks_hit) FILTER (WHERE t.ours), 0)::bigint,
       coalesce(sum(t.bytes) FILTER (WHERE NOT t.ours), 0)::bigint,
       coalesce(sum(t.blocks_read) FILTER (WHERE NOT t.ours), 0)::bigint,
       coalesce(sum(t.blocks_hit) FILTER (WHERE NOT t.ours), 0)::bigint
FROM (
    -- A TOAST table and its index belong to the table that they are of.
    SELECT coalesce(n.nspname ~ '^howdah(_internal|_p[0-9]{2})?$', false) AS ours,
           c.relpages::bigint * current_setting('block_size')::bigint AS bytes,
           pg_stat_get_blocks_fetched(c.oid) - pg_stat_get_blocks_hit(c.oid) AS blocks_read,
           pg_stat_get_blocks_hit(c.oid) AS blocks_hit
    FROM pg_class AS c
    LEFT JOIN pg_index AS i ON i.indexrelid = c.oid
    LEFT JOIN pg_class AS o ON o.reltoastrelid = coalesce(i.indrelid, c.oid)
    LEFT JOIN pg_class AS b ON b.oid = coalesce(o.oid, i.indrelid, c.oid)
    LEFT JOIN pg_namespace AS n ON n.oid = b.relnamespace
    WHERE c.relkind IN ('r', 'i', 't', 'm')
      AND n.nspname NOT IN ('pg_catalog', 'information_schema')
) AS t
