-- Drops a cache with all its entries.
--   $1 name
SELECT howdah.drop_cache($1::text)
