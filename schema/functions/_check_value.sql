CREATE OR REPLACE FUNCTION howdah_internal._check_value(value bytea) RETURNS bytea
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
BEGIN
    IF octet_length(value) <= 536870912 THEN
        RETURN value;
    ELSIF value IS NULL THEN
        RAISE EXCEPTION 'The value is NULL.'
            USING ERRCODE = 'HW012', HINT = 'Give a value, which may be empty; to remove a key, call howdah.delete.';
    END IF;
    RAISE EXCEPTION 'The value is % bytes long; the longest is 536870912 bytes (512 MiB).', octet_length(value)
        USING ERRCODE = 'HW008', HINT = 'Store large objects elsewhere and cache where they are.';
END
$$;

COMMENT ON FUNCTION howdah_internal._check_value(bytea) IS
'Internal. Returns the value, or raises HW008 (too large) or HW012 (NULL).';

REVOKE ALL ON FUNCTION howdah_internal._check_value(bytea) FROM PUBLIC;
