-- Gives a role what an application needs.
--   $1 role, $2 whether it may create the caches db1 to db15
SELECT howdah.grant_runtime($1::text, $2::boolean)
