-- Which copies of shards are on this server: their numbers, 0 for none.
--   $1 shards
SELECT howdah_internal._placements($1::bigint[])
