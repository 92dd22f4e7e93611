CREATE OR REPLACE FUNCTION howdah.smembers_text(cache text, key text)
RETURNS TABLE (member text)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT convert_from(e.member, 'UTF8')
    FROM howdah.smembers(cache, convert_to(key, 'UTF8')) AS e;
END;

COMMENT ON FUNCTION howdah.smembers_text(text, text) IS
'howdah.smembers for text in UTF-8.
What is not UTF-8, or holds a zero byte, raises 22021.';

REVOKE ALL ON FUNCTION howdah.smembers_text(text, text) FROM PUBLIC;
