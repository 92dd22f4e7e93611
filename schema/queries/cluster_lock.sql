-- One program at a time changes all servers; until the connection ends. The key is "howdat" in ASCII.
SELECT pg_catalog.pg_advisory_lock(114827953725812)
