-- Lets a transaction read a table from end to end, which our connections
-- otherwise avoid.
SELECT set_config('enable_seqscan', 'on', true), set_config('plan_cache_mode', 'auto', true)
