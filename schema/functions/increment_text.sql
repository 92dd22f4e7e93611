CREATE OR REPLACE FUNCTION howdah.increment_text(cache text, key text, delta bigint DEFAULT 1, ttl interval DEFAULT NULL)
RETURNS bigint
LANGUAGE sql VOLATILE
RETURN howdah.increment(cache, convert_to(key, 'UTF8'), delta, ttl);

COMMENT ON FUNCTION howdah.increment_text(text, text, bigint, interval) IS
'howdah.increment for a key that is text in UTF-8.';

REVOKE ALL ON FUNCTION howdah.increment_text(text, text, bigint, interval) FROM PUBLIC;
