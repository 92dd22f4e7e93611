CREATE OR REPLACE FUNCTION howdah.set_tagged_text(
    cache text, key text, value text, tags text[], ttl interval DEFAULT NULL,
    snapshot pg_snapshot DEFAULT pg_current_snapshot()
) RETURNS bigint
LANGUAGE sql VOLATILE
RETURN howdah.set_tagged(cache, convert_to(key, 'UTF8'), convert_to(value, 'UTF8'), tags, ttl, snapshot);

COMMENT ON FUNCTION howdah.set_tagged_text(text, text, text, text[], interval, pg_snapshot) IS
'howdah.set_tagged for text in UTF-8.';

REVOKE ALL ON FUNCTION howdah.set_tagged_text(text, text, text, text[], interval, pg_snapshot) FROM PUBLIC;
