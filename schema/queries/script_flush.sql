-- Removes all scripts, and says so to the servers that have some in memory: their new
-- value of script_state.
WITH gone AS (
    DELETE FROM howdah_internal.script
)
UPDATE howdah_internal.script_state
SET scripts = gen_random_uuid()
RETURNING scripts::text
