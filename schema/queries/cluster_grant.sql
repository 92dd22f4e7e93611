-- Grants what Citus has placed to the roles that run applications.
SELECT howdah_internal._grant_places()
