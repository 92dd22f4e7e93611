-- Starts a session.
--   $1 id, $2 hash of the secret, $3 user or NULL, $4 payload, $5 idle timeout,
--   $6 after how long a use is written, $7 lifetime, $8 address and $9 user agent
--   of the client or NULL, $10 most sessions of a user, NULL: any number, $11
--   whether the oldest of too many are ended
SELECT version, created_at, idle_expires_at, absolute_expires_at
FROM howdah.session_create(
    id            => $1::uuid,
    secret_hash   => $2::bytea,
    user_id       => $3::text,
    payload       => $4::bytea,
    idle          => $5::interval,
    skip          => $6::interval,
    lifetime      => $7::interval,
    ip            => $8::inet,
    user_agent    => $9::text,
    user_limit    => $10::integer,
    revoke_oldest => $11::boolean)
