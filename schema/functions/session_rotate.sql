CREATE OR REPLACE FUNCTION howdah.session_rotate(
    id              uuid,
    secret_hash     bytea,
    new_secret_hash bytea,
    user_id         text     DEFAULT NULL,
    lifetime        interval DEFAULT NULL,
    user_limit      integer  DEFAULT NULL,
    revoke_oldest   boolean  DEFAULT false
) RETURNS TABLE (version bigint, owner text, idle_expires_at timestamptz, absolute_expires_at timestamptz)
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    seconds integer := howdah_internal._session_seconds('lifetime', lifetime, 1);
    renewed howdah.session;
BEGIN
    PERFORM howdah_internal._check_session(id, secret_hash, user_id, '', NULL);
    PERFORM howdah_internal._check_session(id, new_secret_hash, NULL, '', NULL);
    PERFORM howdah_internal._session_lock_user(user_id, user_limit);

    SELECT s.* INTO renewed
    FROM howdah.session AS s
    WHERE s.id = session_rotate.id
      AND s.secret_hash = session_rotate.secret_hash
      AND s.idle_expires_at > statement_timestamp()
    FOR UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    PERFORM howdah_internal._session_limit(user_id, id, user_limit, revoke_oldest);

    IF seconds IS NOT NULL THEN
        renewed.absolute_expires_at := statement_timestamp() + make_interval(secs => seconds);
        IF renewed.idle_seconds IS NULL THEN
            renewed.idle_expires_at := renewed.absolute_expires_at;
        END IF;
    END IF;
    RETURN QUERY
        UPDATE howdah.session AS s
        SET secret_hash         = new_secret_hash,
            user_id             = coalesce(session_rotate.user_id, s.user_id),
            version             = s.version + 1,
            last_seen_at        = statement_timestamp(),
            absolute_expires_at = renewed.absolute_expires_at,
            idle_expires_at     = howdah_internal._session_expiry(renewed, statement_timestamp())
        WHERE s.id = session_rotate.id
        RETURNING s.version, s.user_id, s.idle_expires_at, s.absolute_expires_at;
END
$$;

COMMENT ON FUNCTION howdah.session_rotate(uuid, bytea, bytea, text, interval, integer, boolean) IS
'Gives a session a new secret: at login, and at every change of privilege. The old
token is dead when this commits; id and payload stay. Counts as a use.

id, secret_hash: as in howdah.session_get.
new_secret_hash: as secret_hash in howdah.session_create.
user_id: who has logged in; NULL: as before.
lifetime: starts a new lifetime, as for somebody who has just logged in; NULL: the
absolute limit stays.
user_limit, revoke_oldest: as in howdah.session_create, where user_id is given.

Returns one row, in which owner is the user. No row: there is no such session any
more, and nothing changed.
Errors: HW009 invalid time, HW012 invalid argument, HW013 limit reached, HW016
a limit in REPEATABLE READ or SERIALIZABLE.';

REVOKE ALL ON FUNCTION howdah.session_rotate(uuid, bytea, bytea, text, interval, integer, boolean) FROM PUBLIC;
