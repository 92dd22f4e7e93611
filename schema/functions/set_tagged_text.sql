CREATE OR REPLACE FUNCTION howdah.set_tagged_text(cache text, key text, value text, tags text[], ttl interval DEFAULT NULL)
RETURNS bigint
LANGUAGE sql VOLATILE
RETURN howdah.set_tagged(cache, convert_to(key, 'UTF8'), convert_to(value, 'UTF8'), tags, ttl);

COMMENT ON FUNCTION howdah.set_tagged_text(text, text, text, text[], interval) IS
'howdah.set_tagged for text in UTF-8.';

REVOKE ALL ON FUNCTION howdah.set_tagged_text(text, text, text, text[], interval) FROM PUBLIC;
