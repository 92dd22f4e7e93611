CREATE OR REPLACE FUNCTION howdah.session_put(id uuid, secret_hash bytea, payload bytea, lifetime interval)
RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    expiry timestamptz := statement_timestamp() + lifetime;
BEGIN
    PERFORM howdah_internal._check_session(id, secret_hash, NULL, payload, NULL);
    IF lifetime IS NULL OR lifetime > interval '60 years' THEN
        RAISE EXCEPTION 'The lifetime % is out of range.', coalesce(lifetime::text, 'NULL')
            USING ERRCODE = 'HW009', HINT = 'Give an interval of at most 60 years.';
    END IF;
    INSERT INTO howdah.session AS s (id, secret_hash, payload, idle_expires_at, absolute_expires_at)
    VALUES (session_put.id, session_put.secret_hash, session_put.payload, expiry, expiry)
    ON CONFLICT ON CONSTRAINT session_pkey DO UPDATE
    SET payload             = excluded.payload,
        version             = s.version + 1,
        last_seen_at        = statement_timestamp(),
        idle_expires_at     = excluded.idle_expires_at,
        absolute_expires_at = excluded.absolute_expires_at
    WHERE s.secret_hash = excluded.secret_hash
      AND s.idle_expires_at > '-infinity';
    RETURN FOUND;
END
$$;

COMMENT ON FUNCTION howdah.session_put(uuid, bytea, bytea, interval) IS
'Stores a session as a whole, new or not, for session managers that know no more
than that. It has no user and no idle timeout of its own.

id: a UUID made from the token, of version 8.
secret_hash: the SHA-256 of the token.
payload: at most 1 MiB.
lifetime: from now; not positive: it has expired.

Returns false if howdah.session_bury has ended it: then nothing was stored.
Errors: HW008 payload too large, HW009 invalid time, HW012 NULL.';

REVOKE ALL ON FUNCTION howdah.session_put(uuid, bytea, bytea, interval) FROM PUBLIC;
