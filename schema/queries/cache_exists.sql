-- Whether there is a cache of a name, with partitions or without.
--   $1 name
SELECT EXISTS (SELECT FROM howdah_internal.cache WHERE coalesce(whole, name) = $1::text)
