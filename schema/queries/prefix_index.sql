-- Whether a cache has an index by which to find keys by prefix.
--   $1 name
SELECT prefix_index FROM howdah_internal.cache WHERE name = $1::text
