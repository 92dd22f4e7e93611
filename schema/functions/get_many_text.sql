CREATE OR REPLACE FUNCTION howdah.get_many_text(cache text, keys text[])
RETURNS TABLE (key text, value text)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT convert_from(m.key, 'UTF8'), convert_from(m.value, 'UTF8')
    FROM howdah.get_many(cache, howdah_internal._utf8(keys)) AS m;
END;

COMMENT ON FUNCTION howdah.get_many_text(text, text[]) IS
'howdah.get_many for text in UTF-8. A value that is not UTF-8, or holds a zero
byte, raises 22021.';

REVOKE ALL ON FUNCTION howdah.get_many_text(text, text[]) FROM PUBLIC;
