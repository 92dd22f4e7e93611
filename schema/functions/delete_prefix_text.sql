CREATE OR REPLACE FUNCTION howdah.delete_prefix_text(cache text, prefix text, max_rows integer DEFAULT NULL)
RETURNS bigint
LANGUAGE sql VOLATILE
RETURN howdah.delete_prefix(cache, convert_to(prefix, 'UTF8'), max_rows);

COMMENT ON FUNCTION howdah.delete_prefix_text(text, text, integer) IS
'howdah.delete_prefix for a prefix that is text in UTF-8.';

REVOKE ALL ON FUNCTION howdah.delete_prefix_text(text, text, integer) FROM PUBLIC;
