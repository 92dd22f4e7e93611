CREATE OR REPLACE FUNCTION howdah.session_create(
    id            uuid,
    secret_hash   bytea,
    user_id       text     DEFAULT NULL,
    payload       bytea    DEFAULT '',
    idle          interval DEFAULT '30 minutes',
    lifetime      interval DEFAULT '7 days',
    skip          interval DEFAULT NULL,
    ip            inet     DEFAULT NULL,
    user_agent    text     DEFAULT NULL,
    user_limit    integer  DEFAULT NULL,
    revoke_oldest boolean  DEFAULT false
) RETURNS TABLE (version bigint, created_at timestamptz, idle_expires_at timestamptz, absolute_expires_at timestamptz)
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    new_row howdah.session;
BEGIN
    PERFORM howdah_internal._check_session(id, secret_hash, user_id, payload, user_agent);
    new_row.idle_seconds := howdah_internal._session_seconds('idle timeout', idle, 1);
    new_row.skip_seconds := coalesce(howdah_internal._session_seconds('skip window', skip, 0), new_row.idle_seconds / 3, 0);
    new_row.absolute_expires_at := statement_timestamp() + make_interval(
        secs => coalesce(howdah_internal._session_seconds('lifetime', lifetime, 1), 2000000000));
    new_row.idle_expires_at := howdah_internal._session_expiry(new_row, statement_timestamp());

    PERFORM howdah_internal._session_lock_user(user_id, user_limit);
    PERFORM howdah_internal._session_limit(user_id, id, user_limit, revoke_oldest);
    RETURN QUERY
        INSERT INTO howdah.session AS s (
            id, secret_hash, user_id, payload, ip, user_agent,
            idle_seconds, skip_seconds, idle_expires_at, absolute_expires_at)
        VALUES (
            session_create.id, session_create.secret_hash, session_create.user_id, session_create.payload,
            session_create.ip, session_create.user_agent,
            new_row.idle_seconds, new_row.skip_seconds, new_row.idle_expires_at, new_row.absolute_expires_at)
        RETURNING s.version, s.created_at, s.idle_expires_at, s.absolute_expires_at;
END
$$;

COMMENT ON FUNCTION howdah.session_create(uuid, bytea, text, bytea, interval, interval, interval, inet, text, integer, boolean) IS
'Starts a session. The token that the client keeps is made by the caller:
base64url(id || secret), where the secret is 32 bytes from a cryptographic random
source. The database is given the hash of the secret only.

id: a new UUID of version 7.
secret_hash: the SHA-256 of the secret, 32 bytes.
user_id: whose session it is; NULL: the user has not logged in.
payload: at most 1 MiB.
idle: the session lives at least this long after each use, in whole seconds;
NULL: no idle timeout.
lifetime: the session ends this long from now, however much it is used; NULL: in
63 years.
skip: how far in advance a write covers later uses, and so by how much the session
may outlive its idle timeout; NULL: a third of the timeout.
ip, user_agent: of the client, for people to recognise their sessions by.
user_limit: how many live sessions the user may have, this one included; NULL: any
number.
revoke_oldest: over the limit, true: the oldest are revoked; false: HW013.

Errors: HW008 payload too large, HW009 invalid time, HW012 invalid argument, HW013
limit reached, HW016 a limit in REPEATABLE READ or SERIALIZABLE, 23505 the id is taken.';

REVOKE ALL ON FUNCTION howdah.session_create(uuid, bytea, text, bytea, interval, interval, interval, inet, text, integer, boolean) FROM PUBLIC;
