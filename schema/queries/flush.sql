-- Empties a cache: at once if no other transaction uses it, else row by row. Answers the
-- transaction, by whose number the change log has it.
--   $1 name
SELECT pg_catalog.pg_current_xact_id() FROM howdah.flush($1::text)
