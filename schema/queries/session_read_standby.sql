-- What session_read.sql answers, on a standby: by the clock of the primary, and
-- after the heartbeat by which the age of the answer is judged. No row: the
-- standby shows no heartbeat of this reader.
--   $1 id, $2 reader, $3 the time by the clock of the primary
SELECT r.beat,
       s.secret_hash,
       coalesce(s.user_id, ''),
       s.payload,
       coalesce(s.version, 0),
       coalesce(s.created_at, now),
       coalesce(s.last_seen_at, now),
       greatest(s.idle_expires_at, s.created_at, '1970-01-01'),
       coalesce(s.absolute_expires_at, now),
       coalesce(s.idle_expires_at > now, false),
       coalesce(howdah_internal._session_due(s, now), false),
       greatest(s.idle_expires_at, s.created_at, now) - now
FROM howdah.session_reader AS r
CROSS JOIN (SELECT $3::timestamptz AS now) AS clock
LEFT JOIN howdah.session AS s ON s.id = $1::uuid
WHERE r.reader = $2::uuid
