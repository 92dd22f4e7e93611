-- The watches: the table and the cache, and their states; the owner of the function;
-- triggers that are off, and how many there are; how often its expressions failed, how
-- many seconds ago, and why; rows of the table written since it was made, and reads
-- of the cache's table, negative: not known, because processes answer from memory.
SELECT w.shown, w.cache, w.relation IS NOT NULL, c.reads IS NOT NULL, w.able,
       coalesce(pg_get_userbyid(p.proowner)::text, ''),
       coalesce(w.disabled::text[], '{}'), coalesce(cardinality(w.triggers), 0),
       coalesce(d.failures, 0), coalesce(extract(epoch FROM clock_timestamp() - d.failed_at), -1)::float8, coalesce(d.failure, ''),
       -- After a reset of the statistics they count from zero.
       CASE WHEN s.written < d.written THEN s.written ELSE coalesce(s.written - d.written, 0) END,
       coalesce(c.reads, -1)
FROM howdah_internal._watches() AS w
LEFT JOIN howdah_internal.watch AS d ON d.id = w.id
LEFT JOIN (
    SELECT coalesce(h.whole, h.name) AS name,
           CASE WHEN bool_or('near' = ANY (h.features)) THEN -1 ELSE coalesce(sum(pg_stat_get_numscans(i.indexrelid)), -1)::bigint END AS reads
    FROM howdah_internal.cache AS h
    LEFT JOIN pg_index AS i ON i.indrelid = to_regclass(howdah_internal._table(h)) AND i.indisprimary
    GROUP BY coalesce(h.whole, h.name)) AS c ON c.name = w.cache
LEFT JOIN pg_proc AS p ON p.oid = w.function
LEFT JOIN LATERAL (
    SELECT pg_stat_get_tuples_inserted(w.relation) + pg_stat_get_tuples_updated(w.relation)
           + pg_stat_get_tuples_deleted(w.relation) AS written) AS s ON true
ORDER BY w.shown, w.cache
