-- Stores function libraries, and returns the new value of script_state.
-- $1 is the value of script_state that the change was decided by. No row: another server
-- has changed the libraries since; nothing was done. The row that is updated
-- first lets changes happen one after another.
--   $2 names, $3 sources, $4 whether all other libraries are removed
WITH state AS (
    UPDATE howdah_internal.script_state
    SET functions = gen_random_uuid()
    WHERE functions = $1::text::uuid
    RETURNING functions::text AS value
), gone AS (
    DELETE FROM howdah_internal.function_library
    WHERE $4::boolean AND name <> ALL ($2::text[]) AND EXISTS (SELECT FROM state)
), put AS (
    INSERT INTO howdah_internal.function_library (name, source)
    SELECT l.name, l.source
    FROM state CROSS JOIN unnest($2::text[], $3::bytea[]) AS l (name, source)
    ON CONFLICT (name) DO UPDATE SET source = excluded.source
)
SELECT value FROM state
