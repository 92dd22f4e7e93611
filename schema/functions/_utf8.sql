CREATE OR REPLACE FUNCTION howdah_internal._utf8(texts text[]) RETURNS bytea[]
LANGUAGE sql STABLE PARALLEL SAFE
RETURN CASE WHEN texts IS NOT NULL THEN
    ARRAY(SELECT convert_to(t.item, 'UTF8')
          FROM unnest(texts) WITH ORDINALITY AS t (item, position)
          ORDER BY t.position)
END;

COMMENT ON FUNCTION howdah_internal._utf8(text[]) IS
'Internal. Texts as bytes in UTF-8, in their order.';

REVOKE ALL ON FUNCTION howdah_internal._utf8(text[]) FROM PUBLIC;
