-- Gives this server the caches of the coordinator.
--   $1 their rows, $2 names of caches that were emptied
SELECT howdah_internal._follow($1::jsonb, $2::text[])
