CREATE OR REPLACE FUNCTION howdah._key_hashes(keys bytea[]) RETURNS bigint[]
LANGUAGE plpgsql STABLE PARALLEL SAFE
AS $$
BEGIN
    IF keys IS NULL THEN
        RAISE EXCEPTION 'The keys are NULL.'
            USING ERRCODE = 'HW012', HINT = 'Give an array of keys; it may be empty.';
    END IF;
    RETURN (
        SELECT coalesce(array_agg(howdah._hash(m.seed, howdah._check_key(k.key)) ORDER BY k.position), '{}')
        FROM howdah.meta AS m, unnest(keys) WITH ORDINALITY AS k(key, position)
    );
END
$$;

COMMENT ON FUNCTION howdah._key_hashes(bytea[]) IS
'Internal. The hashes of many keys, in their order, after a check of each.';

REVOKE ALL ON FUNCTION howdah._key_hashes(bytea[]) FROM PUBLIC;
