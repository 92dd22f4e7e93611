-- Asks for a notification, by which a process sees that its notifications arrive.
--   $1 its text
SELECT pg_catalog.pg_notify('howdah', $1::text) IS NULL
