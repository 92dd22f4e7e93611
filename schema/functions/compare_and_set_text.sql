CREATE OR REPLACE FUNCTION howdah.compare_and_set_text(cache text, key text, version bigint, value text, ttl interval DEFAULT NULL)
RETURNS bigint
LANGUAGE sql VOLATILE
RETURN howdah.compare_and_set(cache, convert_to(key, 'UTF8'), version, convert_to(value, 'UTF8'), ttl);

COMMENT ON FUNCTION howdah.compare_and_set_text(text, text, bigint, text, interval) IS
'howdah.compare_and_set for text in UTF-8.';

REVOKE ALL ON FUNCTION howdah.compare_and_set_text(text, text, bigint, text, interval) FROM PUBLIC;
