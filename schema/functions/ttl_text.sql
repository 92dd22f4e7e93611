CREATE OR REPLACE FUNCTION howdah.ttl_text(cache text, key text)
RETURNS interval
LANGUAGE sql STABLE PARALLEL SAFE
RETURN howdah.ttl(cache, convert_to(key, 'UTF8'));

COMMENT ON FUNCTION howdah.ttl_text(text, text) IS
'howdah.ttl for a key that is text in UTF-8.';

REVOKE ALL ON FUNCTION howdah.ttl_text(text, text) FROM PUBLIC;
