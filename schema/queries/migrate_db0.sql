-- The cache of a new database.
SELECT howdah.create_cache('db0');
