-- Ends a session of scs and remembers that it was deleted: whether it was alive.
--   $1 id, $2 hash
SELECT howdah.session_bury($1::uuid, $2::bytea)
