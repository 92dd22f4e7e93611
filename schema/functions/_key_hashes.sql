CREATE OR REPLACE FUNCTION howdah_internal._key_hashes(keys bytea[]) RETURNS bigint[]
LANGUAGE plpgsql STABLE PARALLEL SAFE
AS $$
BEGIN
    -- The seed by a scalar subquery: as a join, the one row of howdah.meta is
    -- taken for hundreds until the table is analyzed, and at that cost
    -- PostgreSQL compiles the statement, which takes longer than to run it.
    RETURN (
        SELECT coalesce(array_agg(howdah_internal._hash((SELECT m.seed FROM howdah.meta AS m), howdah_internal._check_key(k.key))
                                  ORDER BY k.position), '{}')
        FROM unnest(keys) WITH ORDINALITY AS k(key, position)
    );
END
$$;

COMMENT ON FUNCTION howdah_internal._key_hashes(bytea[]) IS
'Internal. The hashes of many keys, in their order, after a check of each. NULL
is no keys.';

REVOKE ALL ON FUNCTION howdah_internal._key_hashes(bytea[]) FROM PUBLIC;
