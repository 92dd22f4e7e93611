-- What session_read.sql answers, for several sessions.
--   $1 ids
SELECT s.id,
       s.secret_hash,
       coalesce(s.user_id, ''),
       s.payload,
       s.version,
       s.created_at,
       s.last_seen_at,
       greatest(s.idle_expires_at, s.created_at),
       s.absolute_expires_at,
       s.idle_expires_at > statement_timestamp(),
       howdah_internal._session_due(s, statement_timestamp()),
       greatest(s.idle_expires_at, s.created_at) - statement_timestamp()
FROM howdah.session AS s
WHERE s.id = ANY ($1::uuid[])
