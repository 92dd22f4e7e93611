-- In a database that Citus places partitions in: those that have a place, whether this is the
-- coordinator, and whether Citus moves shards in another way than block_writes.
SELECT ARRAY(SELECT p.partition FROM howdah_internal._places() AS p),
       (SELECT g.groupid = 0 FROM pg_dist_local_group AS g),
       EXISTS (SELECT FROM pg_dist_background_task AS t
               WHERE t.command ~ 'citus_move_shard_placement' AND t.command NOT LIKE '%block_writes%'
                 AND t.status::text IN ('runnable', 'running', 'error'))
