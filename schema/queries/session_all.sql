-- Live sessions of all users, by their ids.
--   $1 the id that they come after, $2 how many at most
SELECT {listed_session}
FROM howdah.sessions
WHERE id > $1::uuid
ORDER BY id
LIMIT $2::bigint
