-- All function libraries, and the value of script_state that they belong to; a row
-- without a library if there is none.
SELECT s.functions::text, l.name, l.source
FROM howdah_internal.script_state AS s
LEFT JOIN howdah_internal.function_library AS l ON true
ORDER BY l.name
