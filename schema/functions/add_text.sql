CREATE OR REPLACE FUNCTION howdah.add_text(cache text, key text, value text, ttl interval DEFAULT NULL)
RETURNS boolean
LANGUAGE sql VOLATILE
RETURN howdah.add(cache, convert_to(key, 'UTF8'), convert_to(value, 'UTF8'), ttl);

COMMENT ON FUNCTION howdah.add_text(text, text, text, interval) IS
'howdah.add for text in UTF-8.';

REVOKE ALL ON FUNCTION howdah.add_text(text, text, text, interval) FROM PUBLIC;
