-- Whether there is a cache of a name.
--   $1 name
SELECT EXISTS (SELECT FROM howdah_internal.cache WHERE name = $1::text)
