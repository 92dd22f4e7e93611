-- All settings of the server.
SELECT name, coalesce(setting, ''), coalesce(unit, ''), source, context
FROM pg_settings
