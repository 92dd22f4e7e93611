-- Creates the cache of a numbered database.
--   $1 number
SELECT howdah.create_database($1)
