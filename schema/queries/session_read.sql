-- The row of a session, whether it lives, whether the row does not cover a use
-- now, and how long the session has left, by the clock of the primary.
--   $1 id
SELECT {session}
FROM howdah.session AS s
WHERE s.id = $1::uuid
