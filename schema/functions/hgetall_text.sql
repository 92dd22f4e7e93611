CREATE OR REPLACE FUNCTION howdah.hgetall_text(cache text, key text)
RETURNS TABLE (field text, value text)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT convert_from(e.field, 'UTF8'), convert_from(e.value, 'UTF8')
    FROM howdah.hgetall(cache, convert_to(key, 'UTF8')) AS e;
END;

COMMENT ON FUNCTION howdah.hgetall_text(text, text) IS
'howdah.hgetall for text in UTF-8.
What is not UTF-8, or holds a zero byte, raises 22021.';

REVOKE ALL ON FUNCTION howdah.hgetall_text(text, text) FROM PUBLIC;
