CREATE OR REPLACE FUNCTION howdah_internal._prefix_end(prefix bytea) RETURNS bytea
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
DECLARE
    last integer := octet_length(prefix);
BEGIN
    -- 0xff has no successor: the byte before it is what counts.
    WHILE last > 0 AND get_byte(prefix, last - 1) = 255 LOOP
        last := last - 1;
    END LOOP;
    IF last = 0 THEN
        RETURN NULL;
    END IF;
    RETURN set_byte(substring(prefix FROM 1 FOR last), last - 1, get_byte(prefix, last - 1) + 1);
END
$$;

COMMENT ON FUNCTION howdah_internal._prefix_end(bytea) IS
'Internal. The least string that is greater than everything with this prefix, or
NULL if there is none.';

REVOKE ALL ON FUNCTION howdah_internal._prefix_end(bytea) FROM PUBLIC;
