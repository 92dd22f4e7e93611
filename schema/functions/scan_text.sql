CREATE OR REPLACE FUNCTION howdah.scan_text(
    cache text, cursor bigint DEFAULT 0, count integer DEFAULT 100, prefix text DEFAULT NULL
) RETURNS TABLE (next_cursor bigint, keys text[])
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT s.next_cursor,
           ARRAY(SELECT convert_from(k.item, 'UTF8')
                 FROM unnest(s.keys) WITH ORDINALITY AS k (item, position)
                 ORDER BY k.position)
    FROM howdah.scan(cache, cursor, count, convert_to(prefix, 'UTF8')) AS s;
END;

COMMENT ON FUNCTION howdah.scan_text(text, bigint, integer, text) IS
'howdah.scan for text in UTF-8. A key that is not UTF-8, or holds a zero byte,
raises 22021.';

REVOKE ALL ON FUNCTION howdah.scan_text(text, bigint, integer, text) FROM PUBLIC;
