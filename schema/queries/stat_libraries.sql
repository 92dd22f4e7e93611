-- The libraries of functions, at most a thousand, and the bytes of their sources.
SELECT l.name, octet_length(l.source)
FROM howdah_internal.function_library AS l
ORDER BY l.name
LIMIT 1000
