-- ARRAY[...] of a text is its array, and of a text[] an array whose elements unnest
-- gives one by one: so the expression may be either. The line break ends a comment in it.
CREATE OR REPLACE FUNCTION howdah_internal._watch_keys(expression text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN format(E'ARRAY[(%s\n)]::text[]', expression);

COMMENT ON FUNCTION howdah_internal._watch_keys(text) IS
'Internal. The SQL of all that an expression of a watch gives for a row, as a text[].';

REVOKE ALL ON FUNCTION howdah_internal._watch_keys(text) FROM PUBLIC;
