-- Replaces the payload of a session that still has this version: whether it did,
-- and the version that the session has then. No row: there is no such session.
--   $1 id, $2 hash of the secret, $3 version, $4 payload
SELECT saved, current_version
FROM howdah.session_save($1::uuid, $2::bytea, $3::bigint, $4::bytea)
