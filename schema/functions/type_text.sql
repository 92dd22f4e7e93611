CREATE OR REPLACE FUNCTION howdah.type_text(cache text, key text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN howdah.type(cache, convert_to(key, 'UTF8'));

COMMENT ON FUNCTION howdah.type_text(text, text) IS
'howdah.type for a key that is text in UTF-8.';

REVOKE ALL ON FUNCTION howdah.type_text(text, text) FROM PUBLIC;
