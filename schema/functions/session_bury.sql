CREATE OR REPLACE FUNCTION howdah.session_bury(id uuid, secret_hash bytea DEFAULT NULL) RETURNS boolean
LANGUAGE sql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
    WITH ended AS (
        UPDATE howdah.session AS s
        SET payload             = '',
            version             = s.version + 1,
            idle_expires_at     = '-infinity',
            absolute_expires_at = statement_timestamp() + interval '1 hour'
        WHERE s.id = session_bury.id
          AND (session_bury.secret_hash IS NULL OR s.secret_hash = session_bury.secret_hash)
          AND s.idle_expires_at > '-infinity'
        RETURNING 1
    )
    SELECT EXISTS (SELECT FROM ended)
$$;

COMMENT ON FUNCTION howdah.session_bury(uuid, bytea) IS
'Ends a session that howdah.session_put stored, and for an hour refuses to store it
again: a request that still runs with the old token must not bring it back.

id, secret_hash: as in howdah.session_put; the hash may be NULL.

Returns true if there was such a session.';

REVOKE ALL ON FUNCTION howdah.session_bury(uuid, bytea) FROM PUBLIC;
