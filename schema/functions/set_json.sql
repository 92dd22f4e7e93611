CREATE OR REPLACE FUNCTION howdah.set_json(cache text, key text, value jsonb, ttl interval DEFAULT NULL)
RETURNS bigint
LANGUAGE sql VOLATILE
RETURN howdah.set(cache, convert_to(key, 'UTF8'), convert_to(value::text, 'UTF8'), ttl);

COMMENT ON FUNCTION howdah.set_json(text, text, jsonb, interval) IS
'howdah.set for a key that is text in UTF-8 and a JSON value, which is stored as its
text in UTF-8: every client can read it. NULL is no value (HW012); the JSON null is
one.';

REVOKE ALL ON FUNCTION howdah.set_json(text, text, jsonb, interval) FROM PUBLIC;
