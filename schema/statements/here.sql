-- Before a write to a shard, in its transaction: keeps the shard on this server until the
-- transaction ends. HW099: it is on another one. The next statement has a younger
-- snapshot. HW016: in REPEATABLE READ it has not; see hold_place.sql.
--   $1 shard
SELECT howdah_internal._here($1::bigint)
