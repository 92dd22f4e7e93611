-- Which of these SHA-1s are those of scripts.
--   $1 SHA-1s
SELECT sha1
FROM howdah_internal.script
WHERE sha1 = ANY ($1::bytea[])
