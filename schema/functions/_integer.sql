CREATE OR REPLACE FUNCTION howdah_internal._integer(value bytea) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
BEGIN
    -- The length first: a value may be large. encode() turns every byte into
    -- ASCII, so no byte can raise an error of the encoding.
    IF octet_length(value) <= 20 AND encode(value, 'escape') ~ '^(0|-?[1-9][0-9]{0,18})$'
       AND encode(value, 'escape')::numeric BETWEEN -9223372036854775808 AND 9223372036854775807
    THEN
        RETURN encode(value, 'escape')::bigint;
    END IF;
    RAISE EXCEPTION 'The value is not an integer of 64 bits.'
        USING ERRCODE = 'HW005',
              HINT = 'Counters hold decimal digits without spaces, plus sign or leading zeros.';
END
$$;

COMMENT ON FUNCTION howdah_internal._integer(bytea) IS
'Internal. The decimal integer that a value holds, or HW005. An optional minus,
then digits without leading zeros; not "-0".';

REVOKE ALL ON FUNCTION howdah_internal._integer(bytea) FROM PUBLIC;
