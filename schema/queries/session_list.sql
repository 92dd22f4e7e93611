-- The live sessions of a user, newest first, without what logs in.
--   $1 user
SELECT id::text,
       coalesce(user_id, ''),
       created_at,
       last_seen_at,
       expires_at,
       absolute_expires_at,
       ip,
       coalesce(user_agent, ''),
       payload_bytes
FROM howdah.session_list($1::text)
