CREATE OR REPLACE FUNCTION howdah_internal._kind_name(kind smallint) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE kind WHEN 0 THEN 'string' WHEN 1 THEN 'hash' WHEN 2 THEN 'list' WHEN 3 THEN 'set' WHEN 4 THEN 'zset' ELSE 'unknown' END;

COMMENT ON FUNCTION howdah_internal._kind_name(smallint) IS
'Internal. The name that Redis has for a kind of entry.';

REVOKE ALL ON FUNCTION howdah_internal._kind_name(smallint) FROM PUBLIC;
