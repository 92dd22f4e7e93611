-- Who waits for a lock on another server waits no longer than here. Citus sends the text as it
-- is, so it is a statement alone.
SET LOCAL lock_timeout = '5s'
