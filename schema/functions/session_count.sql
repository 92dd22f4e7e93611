CREATE OR REPLACE FUNCTION howdah.session_count(user_id text DEFAULT NULL) RETURNS bigint
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    -- Two statements: one that serves both would read the table for either.
    IF user_id IS NULL THEN
        RETURN (SELECT count(*) FROM howdah.session AS s WHERE s.idle_expires_at > statement_timestamp());
    END IF;
    RETURN (SELECT count(*) FROM howdah.session AS s
            WHERE s.user_id = session_count.user_id AND s.idle_expires_at > statement_timestamp());
END
$$;

COMMENT ON FUNCTION howdah.session_count(text) IS
'Counts live sessions, exactly.

user_id: of this user, by an index; NULL: of everybody, by reading the table.';

REVOKE ALL ON FUNCTION howdah.session_count(text) FROM PUBLIC;
