-- The data of all live sessions of scs, whose ids are UUIDs of version 8.
SELECT s.id::text, s.payload
FROM howdah.session AS s
WHERE s.idle_expires_at > statement_timestamp()
  AND substr(s.id::text, 15, 1) = '8'
