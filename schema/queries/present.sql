-- Whether a shard is on this server, by a snapshot of now. HW099: it is not.
--   $1 shard
SELECT howdah_internal._present($1::bigint)
