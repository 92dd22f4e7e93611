-- By which values a server sees that its scripts and functions are outdated. No row: the
-- row was removed.
SELECT scripts::text, functions::text
FROM howdah_internal.script_state
