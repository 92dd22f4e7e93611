CREATE OR REPLACE FUNCTION howdah_internal._check_key(key bytea) RETURNS bytea
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
BEGIN
    IF octet_length(key) <= 65536 THEN
        RETURN key;
    ELSIF key IS NULL THEN
        RAISE EXCEPTION 'The key is NULL.'
            USING ERRCODE = 'HW012', HINT = 'Give a key; the empty key is a key.';
    END IF;
    RAISE EXCEPTION 'The key is % bytes long; the longest is 65536 bytes.', octet_length(key)
        USING ERRCODE = 'HW007', HINT = 'Use a digest of the key as the key.';
END
$$;

COMMENT ON FUNCTION howdah_internal._check_key(bytea) IS
'Internal. Returns the key, or raises HW007 (too long) or HW012 (NULL).';

REVOKE ALL ON FUNCTION howdah_internal._check_key(bytea) FROM PUBLIC;
