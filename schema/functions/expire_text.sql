CREATE OR REPLACE FUNCTION howdah.expire_text(cache text, key text, ttl interval DEFAULT NULL)
RETURNS boolean
LANGUAGE sql VOLATILE
RETURN howdah.expire(cache, convert_to(key, 'UTF8'), ttl);

COMMENT ON FUNCTION howdah.expire_text(text, text, interval) IS
'howdah.expire for a key that is text in UTF-8.';

REVOKE ALL ON FUNCTION howdah.expire_text(text, text, interval) FROM PUBLIC;
