CREATE OR REPLACE FUNCTION howdah.key_hash_text(key text)
RETURNS bigint
LANGUAGE sql STABLE PARALLEL SAFE
RETURN howdah.key_hash(convert_to(key, 'UTF8'));

COMMENT ON FUNCTION howdah.key_hash_text(text) IS
'howdah.key_hash for a key that is text in UTF-8.';

REVOKE ALL ON FUNCTION howdah.key_hash_text(text) FROM PUBLIC;
