-- Settings of the transaction that a write is part of. lock_timeout bounds the wait for each
-- lock, and a statement that is not the first in line for a row waits for two.
--   $1 lock_timeout and statement_timeout in milliseconds
--   $2 synchronous_commit, NULL: it stays
SELECT set_config('lock_timeout', $1::text, true),
       set_config('statement_timeout', $1::text, true),
       set_config('synchronous_commit', coalesce($2::text, current_setting('synchronous_commit')), true)
