-- Makes this server one of several.
--   $1 seed, $2 number of partitions
SELECT howdah_internal._adopt($1::bytea, $2::integer)
