CREATE OR REPLACE FUNCTION howdah_internal._can_add(value bytea, delta bigint) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
-- The length first: a value may be large. encode() turns every byte into ASCII, so no
-- byte can raise an error of the encoding.
RETURN CASE WHEN octet_length(value) <= 20 AND encode(value, 'escape') ~ '^(0|-?[1-9][0-9]{0,18})$'
            THEN encode(value, 'escape')::numeric BETWEEN -9223372036854775808 AND 9223372036854775807
                 AND encode(value, 'escape')::numeric + delta BETWEEN -9223372036854775808 AND 9223372036854775807
            ELSE false END;

COMMENT ON FUNCTION howdah_internal._can_add(bytea, bigint) IS
'Internal. Says whether howdah_internal._add_integer would add, or raise an error.';

REVOKE ALL ON FUNCTION howdah_internal._can_add(bytea, bigint) FROM PUBLIC;
