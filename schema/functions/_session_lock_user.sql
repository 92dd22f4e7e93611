CREATE OR REPLACE FUNCTION howdah_internal._session_lock_user(user_id text, user_limit integer) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
    IF user_limit < 1 THEN
        RAISE EXCEPTION 'The limit user_limit = % is not positive.', user_limit
            USING ERRCODE = 'HW012', HINT = 'Give a positive number, or NULL for no limit.';
    ELSIF user_id IS NOT NULL AND user_limit IS NOT NULL THEN
        IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
            RAISE EXCEPTION 'The sessions of a user cannot be counted in a transaction of isolation level %: it does not see those that others have created since it began.',
                            upper(current_setting('transaction_isolation'))
                USING ERRCODE = 'HW016', HINT = 'Use a transaction of isolation level READ COMMITTED, or no limit.';
        END IF;
        -- Two that are created at once would not see each other. Users whose
        -- hashes are the same wait for each other, no more.
        PERFORM pg_advisory_xact_lock(hashtextextended('howdah.session ' || user_id, 0));
    END IF;
END
$$;

COMMENT ON FUNCTION howdah_internal._session_lock_user(text, integer) IS
'Internal. Where there is a limit, lets one transaction at a time add sessions of a
user. Taken before any row is locked. Raises HW012, HW016 (isolation level).';

REVOKE ALL ON FUNCTION howdah_internal._session_lock_user(text, integer) FROM PUBLIC;
