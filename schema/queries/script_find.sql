-- The source of a script.
--   $1 SHA-1
SELECT source
FROM howdah_internal.script
WHERE sha1 = $1::bytea
