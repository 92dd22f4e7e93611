CREATE OR REPLACE FUNCTION howdah.get_json(cache text, key text)
RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
RETURN convert_from(howdah.get(cache, convert_to(key, 'UTF8')), 'UTF8')::jsonb;

COMMENT ON FUNCTION howdah.get_json(text, text) IS
'howdah.get for a key that is text in UTF-8 and a value that is JSON. NULL: the key is
absent or expired. A value that is not JSON raises 22P02, one that is not UTF-8
22021.';

REVOKE ALL ON FUNCTION howdah.get_json(text, text) FROM PUBLIC;
