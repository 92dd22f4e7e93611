-- Stores a function library, and returns the new value of script_state.
-- $1 is the value of script_state that the change was decided by. No row: another server
-- has changed the libraries since; nothing was done. The row that is updated
-- first lets changes happen one after another.
--   $2 name, $3 source
WITH state AS (
    UPDATE howdah_internal.script_state
    SET functions = gen_random_uuid()
    WHERE functions = $1::text::uuid
    RETURNING functions::text AS value
), put AS (
    INSERT INTO howdah_internal.function_library (name, source)
    SELECT $2::text, $3::bytea FROM state
    ON CONFLICT (name) DO UPDATE SET source = excluded.source
)
SELECT value FROM state
