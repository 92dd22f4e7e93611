-- Empties a cache: at once if no other transaction uses it, else row by row.
--   $1 name
SELECT howdah.flush($1::text)::text
