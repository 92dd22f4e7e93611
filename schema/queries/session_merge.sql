-- Changes fields of a payload that is a JSON object. No row: there is no such
-- session.
--   $1 id, $2 hash of the secret, $3 fields to set, $4 fields to remove,
--   $5 the longest payload in bytes
SELECT version, payload
FROM howdah.session_merge($1::uuid, $2::bytea, ($3::text)::jsonb, $4::text[], $5::integer)
