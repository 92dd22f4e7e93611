CREATE OR REPLACE FUNCTION howdah_internal._double(bytes bytea) RETURNS double precision
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
DECLARE
    bits     CONSTANT bigint := ('x' || encode(bytes, 'hex'))::bit(64)::bigint;
    exponent CONSTANT integer := (bits >> 52) & 2047;
    fraction CONSTANT bigint := bits & 4503599627370495;
    sign     CONSTANT double precision := CASE WHEN bits < 0 THEN -1 ELSE 1 END;
BEGIN
    -- Each step is exact: a whole number below 2^53 times a power of two.
    RETURN CASE WHEN exponent = 2047 THEN sign * 'infinity'::double precision
                WHEN bits << 1 = 0 THEN sign * 0::double precision
                WHEN exponent = 0 THEN sign * fraction * power(2::double precision, -1074)
                ELSE sign * (fraction | 4503599627370496) * power(2::double precision, exponent - 1075) END;
END
$$;

COMMENT ON FUNCTION howdah_internal._double(bytea) IS
'Internal. The number whose IEEE 754 form of 8 bytes, big-endian, is given. Not of NaN.';

REVOKE ALL ON FUNCTION howdah_internal._double(bytea) FROM PUBLIC;
