-- Live sessions of everybody, by their ids.
--   $1 the id that they come after, $2 how many at most
SELECT id::text,
       coalesce(user_id, ''),
       created_at,
       last_seen_at,
       expires_at,
       absolute_expires_at,
       ip,
       coalesce(user_agent, ''),
       payload_bytes
FROM howdah.sessions
WHERE id > $1::uuid
ORDER BY id
LIMIT $2::bigint
