CREATE OR REPLACE FUNCTION howdah.get_entry_text(cache text, key text)
RETURNS TABLE (value text, version bigint, expires_at timestamptz, ttl interval)
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT convert_from(e.value, 'UTF8'), e.version, e.expires_at, e.ttl
    FROM howdah.get_entry(cache, convert_to(key, 'UTF8')) AS e;
END;

COMMENT ON FUNCTION howdah.get_entry_text(text, text) IS
'howdah.get_entry for text in UTF-8. A value that is not UTF-8, or holds a zero byte,
raises 22021.';

REVOKE ALL ON FUNCTION howdah.get_entry_text(text, text) FROM PUBLIC;
