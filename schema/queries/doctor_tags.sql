-- The tables of tags of the caches: the name and the id of the cache, how it should
-- persist and how it does (p: logged, u: unlogged; nothing: the table is missing).
SELECT c.name, c.id,
       CASE WHEN c.durability = 'unlogged' THEN 'u' ELSE 'p' END,
       coalesce(t.relpersistence::text, '')
FROM howdah_internal.cache AS c
LEFT JOIN LATERAL howdah_internal._class(to_regclass(howdah_internal._tag_table(c))) AS t ON true
WHERE howdah_internal._is_here(c)
ORDER BY c.name
