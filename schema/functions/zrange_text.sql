CREATE OR REPLACE FUNCTION howdah.zrange_text(cache text, key text, start bigint DEFAULT 0, stop bigint DEFAULT -1)
RETURNS TABLE (place bigint, member text, score double precision)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT e.place, convert_from(e.member, 'UTF8'), e.score
    FROM howdah.zrange(cache, convert_to(key, 'UTF8'), start, stop) AS e;
END;

COMMENT ON FUNCTION howdah.zrange_text(text, text, bigint, bigint) IS
'howdah.zrange for text in UTF-8.
What is not UTF-8, or holds a zero byte, raises 22021.';

REVOKE ALL ON FUNCTION howdah.zrange_text(text, text, bigint, bigint) FROM PUBLIC;
