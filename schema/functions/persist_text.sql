CREATE OR REPLACE FUNCTION howdah.persist_text(cache text, key text)
RETURNS boolean
LANGUAGE sql VOLATILE
RETURN howdah.persist(cache, convert_to(key, 'UTF8'));

COMMENT ON FUNCTION howdah.persist_text(text, text) IS
'howdah.persist for a key that is text in UTF-8.';

REVOKE ALL ON FUNCTION howdah.persist_text(text, text) FROM PUBLIC;
