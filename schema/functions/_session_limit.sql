CREATE OR REPLACE FUNCTION howdah_internal._session_limit(user_id text, keep uuid, user_limit integer, revoke_oldest boolean)
RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    others  uuid[];
    surplus integer;
BEGIN
    IF user_id IS NULL OR user_limit IS NULL THEN
        RETURN;
    END IF;
    others := ARRAY(
        SELECT s.id
        FROM howdah.session AS s
        WHERE s.user_id = _session_limit.user_id
          AND s.id <> keep
          AND s.idle_expires_at > statement_timestamp()
        ORDER BY s.created_at, s.id);
    surplus := cardinality(others) + 1 - user_limit;
    IF surplus <= 0 THEN
        RETURN;
    ELSIF NOT revoke_oldest THEN
        RAISE EXCEPTION 'The user has % live sessions and may have %.', cardinality(others), user_limit
            USING ERRCODE = 'HW013', HINT = 'Revoke one of them first, or let the oldest be revoked.';
    END IF;
    WITH doomed AS MATERIALIZED (
        SELECT s.id FROM howdah.session AS s WHERE s.id = ANY (others[1:surplus]) ORDER BY s.id FOR UPDATE
    )
    DELETE FROM howdah.session AS s WHERE s.id = ANY (ARRAY(SELECT d.id FROM doomed AS d));
END
$$;

COMMENT ON FUNCTION howdah_internal._session_limit(text, uuid, integer, boolean) IS
'Internal. Holds the number of live sessions of a user, "keep" included, to the
limit: raises HW013 or revokes the oldest others. The caller holds the lock of the
user (howdah_internal._session_lock_user).';

REVOKE ALL ON FUNCTION howdah_internal._session_limit(text, uuid, integer, boolean) FROM PUBLIC;
