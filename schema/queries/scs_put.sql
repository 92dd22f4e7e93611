-- Stores the data of a session of scs, unless it was deleted: whether it did.
--   $1 id, $2 hash, $3 data, $4 how long it lives
SELECT howdah.session_put($1::uuid, $2::bytea, $3::bytea, $4::interval)
