CREATE OR REPLACE FUNCTION howdah_internal._check_isolation() RETURNS void
LANGUAGE plpgsql STABLE
AS $$
BEGIN
    IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
        RAISE EXCEPTION 'Tags cannot be used in a transaction of isolation level %: it does not see what others have stored or invalidated since it began.',
                        upper(current_setting('transaction_isolation'))
            USING ERRCODE = 'HW016', HINT = 'Use a transaction of isolation level READ COMMITTED, or a call of its own.';
    END IF;
END
$$;

COMMENT ON FUNCTION howdah_internal._check_isolation() IS
'Internal. Raises HW016 in a transaction of REPEATABLE READ or SERIALIZABLE.';

REVOKE ALL ON FUNCTION howdah_internal._check_isolation() FROM PUBLIC;
