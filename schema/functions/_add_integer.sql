CREATE OR REPLACE FUNCTION howdah_internal._add_integer(value bytea, delta bigint) RETURNS bytea
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
DECLARE
    sum numeric := howdah_internal._integer(value)::numeric + delta;
BEGIN
    IF sum NOT BETWEEN -9223372036854775808 AND 9223372036854775807 THEN
        RAISE EXCEPTION 'The sum % is not an integer of 64 bits.', sum
            USING ERRCODE = 'HW006', HINT = 'The counter is unchanged; set it to start again.';
    END IF;
    RETURN convert_to(sum::text, 'UTF8');
END
$$;

COMMENT ON FUNCTION howdah_internal._add_integer(bytea, bigint) IS
'Internal. The sum of the integer that a value holds and a delta, as a value.
Raises HW005 (not an integer) or HW006 (overflow).';

REVOKE ALL ON FUNCTION howdah_internal._add_integer(bytea, bigint) FROM PUBLIC;
