-- Exchanges the entries of two caches.
--   $1, $2 their names
SELECT howdah.swap_caches($1, $2)
