CREATE OR REPLACE FUNCTION howdah.delete_many_text(cache text, keys text[])
RETURNS bigint
LANGUAGE sql VOLATILE
RETURN howdah.delete_many(cache, howdah_internal._utf8(keys));

COMMENT ON FUNCTION howdah.delete_many_text(text, text[]) IS
'howdah.delete_many for keys that are text in UTF-8.';

REVOKE ALL ON FUNCTION howdah.delete_many_text(text, text[]) FROM PUBLIC;
