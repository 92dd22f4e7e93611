CREATE OR REPLACE FUNCTION howdah.get_text(cache text, key text)
RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN convert_from(howdah.get(cache, convert_to(key, 'UTF8')), 'UTF8');

COMMENT ON FUNCTION howdah.get_text(text, text) IS
'howdah.get for text in UTF-8. A value that is not UTF-8, or holds a zero byte,
raises 22021.';

REVOKE ALL ON FUNCTION howdah.get_text(text, text) FROM PUBLIC;
