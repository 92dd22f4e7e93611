CREATE OR REPLACE FUNCTION howdah.replace_text(cache text, key text, value text, ttl interval DEFAULT NULL)
RETURNS boolean
LANGUAGE sql VOLATILE
RETURN howdah.replace(cache, convert_to(key, 'UTF8'), convert_to(value, 'UTF8'), ttl);

COMMENT ON FUNCTION howdah.replace_text(text, text, text, interval) IS
'howdah.replace for text in UTF-8.';

REVOKE ALL ON FUNCTION howdah.replace_text(text, text, text, interval) FROM PUBLIC;
