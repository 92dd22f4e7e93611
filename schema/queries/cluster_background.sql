-- Whether Citus rebalances by itself, and in another way than block_writes.
SELECT count(*) > 0, coalesce(bool_or(t.command NOT LIKE '%block_writes%'), false)
FROM pg_catalog.pg_dist_background_task AS t
WHERE t.command ~ 'citus_move_shard_placement' AND t.status::text IN ('runnable', 'running', 'error', 'blocked', 'cancelling')
