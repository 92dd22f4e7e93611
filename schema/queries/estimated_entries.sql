-- About how many entries a cache has.
--   $1 name
SELECT estimated_entries
FROM howdah.caches()
WHERE name = $1
