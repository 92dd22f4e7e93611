-- The names of the caches.
SELECT name
FROM howdah_internal.cache
ORDER BY name
