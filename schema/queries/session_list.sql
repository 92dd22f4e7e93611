-- The live sessions of a user, newest first, without what logs in.
--   $1 user
SELECT {listed_session}
FROM howdah.session_list($1::text)
