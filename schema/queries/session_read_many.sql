-- What session_read.sql answers, for several sessions.
--   $1 ids
SELECT {session}
FROM howdah.session AS s
WHERE s.id = ANY ($1::uuid[])
