-- The hash of a live session of scs.
--   $1 id
SELECT s.secret_hash
FROM howdah.session AS s
WHERE s.id = $1::uuid
  AND s.idle_expires_at > statement_timestamp()
