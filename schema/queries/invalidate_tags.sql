--   $1 cache, $2 tags
SELECT howdah.invalidate_tags($1::text, $2::text[])
