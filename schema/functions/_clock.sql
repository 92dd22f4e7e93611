CREATE OR REPLACE FUNCTION howdah_internal._clock() RETURNS bigint
LANGUAGE sql VOLATILE PARALLEL SAFE
RETURN (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;

COMMENT ON FUNCTION howdah_internal._clock() IS
'Internal. Microseconds since 1970, the floor of new versions. It is the running
clock, not the statement''s: a key that is set, deleted and set again by one
statement must not see a version twice.';

REVOKE ALL ON FUNCTION howdah_internal._clock() FROM PUBLIC;
