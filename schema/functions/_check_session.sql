CREATE OR REPLACE FUNCTION howdah_internal._check_session(
    id uuid, secret_hash bytea, user_id text, payload bytea, user_agent text
) RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
BEGIN
    IF id IS NULL THEN
        RAISE EXCEPTION 'The id of the session is NULL.'
            USING ERRCODE = 'HW012', HINT = 'Give a new UUID, of version 7 where you can.';
    ELSIF octet_length(secret_hash) IS DISTINCT FROM 32 THEN
        RAISE EXCEPTION 'The hash of the secret is % bytes long; it has 32.', coalesce(octet_length(secret_hash), 0)
            USING ERRCODE = 'HW012', HINT = 'Give the SHA-256 of 32 random bytes, never the secret itself.';
    ELSIF user_id = '' OR octet_length(user_id) > 1024 THEN
        RAISE EXCEPTION 'The user id is % bytes long; it has 1 to 1024.', octet_length(user_id)
            USING ERRCODE = 'HW012', HINT = 'Give NULL for a session of nobody.';
    ELSIF payload IS NULL THEN
        RAISE EXCEPTION 'The payload is NULL.'
            USING ERRCODE = 'HW012', HINT = 'Give a payload, which may be empty.';
    ELSIF octet_length(payload) > 1048576 THEN
        RAISE EXCEPTION 'The payload is % bytes long; the longest is 1048576 bytes (1 MiB).', octet_length(payload)
            USING ERRCODE = 'HW008', HINT = 'Keep large objects elsewhere and their keys in the session.';
    ELSIF octet_length(user_agent) > 1024 THEN
        RAISE EXCEPTION 'The user agent is % bytes long; the longest is 1024 bytes.', octet_length(user_agent)
            USING ERRCODE = 'HW012', HINT = 'Cut it.';
    END IF;
END
$$;

COMMENT ON FUNCTION howdah_internal._check_session(uuid, bytea, text, bytea, text) IS
'Internal. Raises HW008 or HW012 if one of these cannot be part of a session.';

REVOKE ALL ON FUNCTION howdah_internal._check_session(uuid, bytea, text, bytea, text) FROM PUBLIC;
