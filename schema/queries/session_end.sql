-- Ends the session of a token: whether it was alive.
--   $1 id, $2 hash of the secret
SELECT howdah.session_end($1::uuid, $2::bytea)
