-- Ends what cluster_lock.sql began.
SELECT pg_catalog.pg_advisory_unlock(114827953725812)
