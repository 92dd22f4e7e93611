CREATE OR REPLACE FUNCTION howdah_internal._hash(seed bytea, key bytea) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ('x' || encode(substring(sha256(seed || key) FROM 1 FOR 8), 'hex'))::bit(64)::bigint
       & 9223372036854775807;

COMMENT ON FUNCTION howdah_internal._hash(bytea, bytea) IS
'Internal. The hash of a key under a seed: the first 8 bytes of
SHA-256(seed || key), big-endian, without the top bit.';

REVOKE ALL ON FUNCTION howdah_internal._hash(bytea, bytea) FROM PUBLIC;
