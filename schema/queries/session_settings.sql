-- Settings of the transaction that a write is part of.
--   $1 lock_timeout in milliseconds, $2 synchronous_commit, NULL: it stays
SELECT set_config('lock_timeout', $1::text, true),
       set_config('synchronous_commit', coalesce($2::text, current_setting('synchronous_commit')), true)
