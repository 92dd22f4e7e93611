SELECT howdah.drop_cache($1::text)
