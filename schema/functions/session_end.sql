CREATE OR REPLACE FUNCTION howdah.session_end(id uuid, secret_hash bytea) RETURNS boolean
LANGUAGE sql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
    WITH ended AS (
        DELETE FROM howdah.session AS s
        WHERE s.id = session_end.id AND s.secret_hash = session_end.secret_hash
        RETURNING s.idle_expires_at
    )
    SELECT coalesce((SELECT e.idle_expires_at > statement_timestamp() FROM ended AS e), false)
$$;

COMMENT ON FUNCTION howdah.session_end(uuid, bytea) IS
'Logs out: ends the session that a token stands for.

id, secret_hash: as in howdah.session_get.

Returns true if there was such a live session.';

REVOKE ALL ON FUNCTION howdah.session_end(uuid, bytea) FROM PUBLIC;
