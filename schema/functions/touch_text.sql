CREATE OR REPLACE FUNCTION howdah.touch_text(cache text, key text, ttl interval DEFAULT NULL)
RETURNS boolean
LANGUAGE sql VOLATILE
RETURN howdah.touch(cache, convert_to(key, 'UTF8'), ttl);

COMMENT ON FUNCTION howdah.touch_text(text, text, interval) IS
'howdah.touch for a key that is text in UTF-8.';

REVOKE ALL ON FUNCTION howdah.touch_text(text, text, interval) FROM PUBLIC;
