-- How many live sessions a user has.
--   $1 user
SELECT howdah.session_count($1::text)
