CREATE OR REPLACE FUNCTION howdah_internal._session_seconds(what text, value interval, minimum integer) RETURNS integer
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
DECLARE
    seconds numeric := ceil(extract(epoch FROM value));
BEGIN
    IF seconds < minimum OR seconds > 2000000000 THEN
        RAISE EXCEPTION 'The % % is out of range.', what, value
            USING ERRCODE = 'HW009', HINT = format('Give %s second or more, and less than 60 years.', minimum);
    END IF;
    RETURN seconds;
END
$$;

COMMENT ON FUNCTION howdah_internal._session_seconds(text, interval, integer) IS
'Internal. An interval in whole seconds, rounded up; NULL for NULL. Raises HW009.';

REVOKE ALL ON FUNCTION howdah_internal._session_seconds(text, interval, integer) FROM PUBLIC;
