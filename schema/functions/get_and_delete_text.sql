CREATE OR REPLACE FUNCTION howdah.get_and_delete_text(cache text, key text)
RETURNS text
LANGUAGE sql VOLATILE
RETURN convert_from(howdah.get_and_delete(cache, convert_to(key, 'UTF8')), 'UTF8');

COMMENT ON FUNCTION howdah.get_and_delete_text(text, text) IS
'howdah.get_and_delete for text in UTF-8. A value that is not UTF-8, or holds a
zero byte, raises 22021 and stays.';

REVOKE ALL ON FUNCTION howdah.get_and_delete_text(text, text) FROM PUBLIC;
