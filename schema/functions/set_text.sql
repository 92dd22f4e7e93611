CREATE OR REPLACE FUNCTION howdah.set_text(cache text, key text, value text, ttl interval DEFAULT NULL)
RETURNS bigint
LANGUAGE sql VOLATILE
RETURN howdah.set(cache, convert_to(key, 'UTF8'), convert_to(value, 'UTF8'), ttl);

COMMENT ON FUNCTION howdah.set_text(text, text, text, interval) IS
'howdah.set for text in UTF-8.';

REVOKE ALL ON FUNCTION howdah.set_text(text, text, text, interval) FROM PUBLIC;
