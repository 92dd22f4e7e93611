-- Gives a session another secret. No row: there is no such session.
--   $1 id, $2 hash of the secret, $3 hash of the new one, $4 user, NULL: stays,
--   $5 lifetime, NULL: the deadline stays, $6 most sessions of a user, NULL: any
--   number, $7 whether the oldest of too many are ended
SELECT version, owner, idle_expires_at, absolute_expires_at
FROM howdah.session_rotate(
    id              => $1::uuid,
    secret_hash     => $2::bytea,
    new_secret_hash => $3::bytea,
    user_id         => $4::text,
    lifetime        => $5::interval,
    user_limit      => $6::integer,
    revoke_oldest   => $7::boolean)
