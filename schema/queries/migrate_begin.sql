-- Begins the transaction of an upgrade. The defaults of the database may be
-- different. The lock is for all that change the schema, and its key "howdah" in
-- ASCII. It comes first: what is read after it cannot change any more.
BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;
-- Names mean what they say, whatever the settings of the session are.
SET LOCAL search_path = pg_catalog, pg_temp;
-- psql would show what is there already, or is not, as a NOTICE each.
SET LOCAL client_min_messages = warning;
-- Where Citus is, it must not make half of it on other servers.
SET LOCAL citus.enable_ddl_propagation = off;
SELECT pg_advisory_xact_lock(114827953725800);
