-- The names of the caches. Before schema 16 there is no column for partitions.
SELECT DISTINCT coalesce(to_jsonb(c) ->> 'whole', c.name)
FROM howdah_internal.cache AS c
ORDER BY 1
