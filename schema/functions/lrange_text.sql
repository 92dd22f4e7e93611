CREATE OR REPLACE FUNCTION howdah.lrange_text(cache text, key text, start bigint DEFAULT 0, stop bigint DEFAULT -1)
RETURNS TABLE (place bigint, element text)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT e.place, convert_from(e.element, 'UTF8')
    FROM howdah.lrange(cache, convert_to(key, 'UTF8'), start, stop) AS e;
END;

COMMENT ON FUNCTION howdah.lrange_text(text, text, bigint, bigint) IS
'howdah.lrange for text in UTF-8.
What is not UTF-8, or holds a zero byte, raises 22021.';

REVOKE ALL ON FUNCTION howdah.lrange_text(text, text, bigint, bigint) FROM PUBLIC;
