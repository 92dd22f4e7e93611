-- The names of the caches, in a schema of version 1 to 5.
SELECT name
FROM howdah.cache
ORDER BY name
