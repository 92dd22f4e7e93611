-- PL/pgSQL keeps the plan, as in howdah.key_hash.
CREATE OR REPLACE FUNCTION howdah_internal._partition(key bytea) RETURNS smallint
LANGUAGE plpgsql STABLE PARALLEL SAFE
AS $$
BEGIN
    -- The top bits of 63: of the six that 64 partitions need, those that this number needs.
    RETURN (SELECT (howdah_internal._hash(m.seed, howdah_internal._hash_tag(_partition.key)) >> 57) * m.partitions / 64
            FROM howdah.meta AS m
            WHERE m.partitions > 0);
END
$$;

COMMENT ON FUNCTION howdah_internal._partition(bytea) IS
'Internal. The number of the partition of a key, from 0: the top bits of howdah.key_hash of its
hash tag (see _hash_tag), which is hash >> (63 - log2 of the number of partitions). NULL: the
database has no partitions, or the key is NULL.';

REVOKE ALL ON FUNCTION howdah_internal._partition(bytea) FROM PUBLIC;
