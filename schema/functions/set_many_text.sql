CREATE OR REPLACE FUNCTION howdah.set_many_text(cache text, keys text[], "values" text[], ttl interval DEFAULT NULL)
RETURNS bigint
LANGUAGE sql VOLATILE
RETURN howdah.set_many(cache, howdah_internal._utf8(keys), howdah_internal._utf8("values"), ttl);

COMMENT ON FUNCTION howdah.set_many_text(text, text[], text[], interval) IS
'howdah.set_many for text in UTF-8.';

REVOKE ALL ON FUNCTION howdah.set_many_text(text, text[], text[], interval) FROM PUBLIC;
