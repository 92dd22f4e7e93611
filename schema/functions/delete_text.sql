CREATE OR REPLACE FUNCTION howdah.delete_text(cache text, key text)
RETURNS boolean
LANGUAGE sql VOLATILE
RETURN howdah.delete(cache, convert_to(key, 'UTF8'));

COMMENT ON FUNCTION howdah.delete_text(text, text) IS
'howdah.delete for text in UTF-8.';

REVOKE ALL ON FUNCTION howdah.delete_text(text, text) FROM PUBLIC;
