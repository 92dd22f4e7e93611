CREATE OR REPLACE FUNCTION howdah_internal._refuse_kind(kind smallint) RETURNS bytea
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
BEGIN
    RAISE EXCEPTION 'The key holds a value of type %, which the function does not take.', howdah_internal._kind_name(kind)
        USING ERRCODE = 'HW018',
              HINT = 'Read it with a function for its kind, see howdah.type; or delete the key, or use another one.';
END
$$;

COMMENT ON FUNCTION howdah_internal._refuse_kind(smallint) IS
'Internal. Raises HW018 for an entry of a kind that the caller does not take. It
returns nothing; it stands where the value would.';

REVOKE ALL ON FUNCTION howdah_internal._refuse_kind(smallint) FROM PUBLIC;
