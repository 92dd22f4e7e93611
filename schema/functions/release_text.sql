CREATE OR REPLACE FUNCTION howdah.release_text(cache text, key text, token bigint)
RETURNS boolean
LANGUAGE sql VOLATILE
RETURN howdah.release(cache, convert_to(key, 'UTF8'), token);

COMMENT ON FUNCTION howdah.release_text(text, text, bigint) IS
'howdah.release for text in UTF-8.';

REVOKE ALL ON FUNCTION howdah.release_text(text, text, bigint) FROM PUBLIC;
