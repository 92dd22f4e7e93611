CREATE OR REPLACE FUNCTION howdah.fulfil_text(
    cache text, key text, token bigint, value text, ttl interval DEFAULT NULL, stale interval DEFAULT NULL
) RETURNS bigint
LANGUAGE sql VOLATILE
RETURN howdah.fulfil(cache, convert_to(key, 'UTF8'), token, convert_to(value, 'UTF8'), ttl, stale);

COMMENT ON FUNCTION howdah.fulfil_text(text, text, bigint, text, interval, interval) IS
'howdah.fulfil for text in UTF-8.';

REVOKE ALL ON FUNCTION howdah.fulfil_text(text, text, bigint, text, interval, interval) FROM PUBLIC;
