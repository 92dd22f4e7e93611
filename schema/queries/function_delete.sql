-- Removes a function library, and returns the new value of script_state.
-- $1 is the value of script_state that the change was decided by. No row: another server
-- has changed the libraries since; nothing was done. The row that is updated
-- first lets changes happen one after another.
--   $2 name
WITH state AS (
    UPDATE howdah_internal.script_state
    SET functions = gen_random_uuid()
    WHERE functions = $1::text::uuid
    RETURNING functions::text AS value
), gone AS (
    DELETE FROM howdah_internal.function_library
    WHERE name = $2::text AND EXISTS (SELECT FROM state)
)
SELECT value FROM state
