CREATE OR REPLACE FUNCTION howdah.session_save(id uuid, secret_hash bytea, version bigint, payload bytea)
RETURNS TABLE (saved boolean, current_version bigint)
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM howdah_internal._check_session(id, secret_hash, NULL, payload, NULL);
    RETURN QUERY
        UPDATE howdah.session AS s
        SET payload         = session_save.payload,
            version         = s.version + 1,
            last_seen_at    = statement_timestamp(),
            idle_expires_at = howdah_internal._session_expiry(s, statement_timestamp())
        WHERE s.id = session_save.id
          AND s.secret_hash = session_save.secret_hash
          AND s.version = session_save.version
          AND s.idle_expires_at > statement_timestamp()
        RETURNING true, s.version;
    IF NOT FOUND THEN
        RETURN QUERY
            SELECT false, s.version
            FROM howdah.session AS s
            WHERE s.id = session_save.id
              AND s.secret_hash = session_save.secret_hash
              AND s.idle_expires_at > statement_timestamp();
    END IF;
END
$$;

COMMENT ON FUNCTION howdah.session_save(uuid, bytea, bigint, bytea) IS
'Replaces the payload of a session if it still has the version that was read.
Counts as a use.

id, secret_hash: as in howdah.session_get.
version: from howdah.session_get or an earlier write.
payload: at most 1 MiB.

Returns one row: saved, and the version it now has; with saved = false it was
another and nothing changed. No row: there is no such session any more.
Errors: HW008 payload too large, HW012 NULL.';

REVOKE ALL ON FUNCTION howdah.session_save(uuid, bytea, bigint, bytea) FROM PUBLIC;
