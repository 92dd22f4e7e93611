-- Whether a cache, or a partition of one, has an index by which to find keys by prefix.
--   $1 name
SELECT p.prefix_index FROM howdah_internal._partitions($1::text) AS p LIMIT 1
