SELECT howdah.flush($1::text)::text
