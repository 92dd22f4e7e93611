-- The schemas, when nothing is left in them.
DROP SCHEMA IF EXISTS howdah_internal;
DROP SCHEMA howdah;
