-- PL/pgSQL keeps the plan of the lookup for the session; a SQL function that
-- reads a table is planned anew by every calling statement before PostgreSQL 18.
CREATE OR REPLACE FUNCTION howdah.key_hash(key bytea) RETURNS bigint
LANGUAGE plpgsql STABLE PARALLEL SAFE
AS $$
BEGIN
    RETURN (SELECT howdah_internal._hash(m.seed, key_hash.key) FROM howdah.meta AS m);
END
$$;

COMMENT ON FUNCTION howdah.key_hash(bytea) IS
'The hash under which an entry is stored, from 0 to 2^63-1: the first 8 bytes of
SHA-256(seed || key), big-endian, without the top bit. The seed is a secret of
the database, in howdah.meta.

key: any bytes.';

REVOKE ALL ON FUNCTION howdah.key_hash(bytea) FROM PUBLIC;
