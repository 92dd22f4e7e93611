CREATE OR REPLACE FUNCTION howdah.claim_text(cache text, key text, lease interval DEFAULT '10 seconds')
RETURNS TABLE (state text, value text, token bigint, won boolean, lease_left interval, expired interval)
LANGUAGE sql VOLATILE
BEGIN ATOMIC
    SELECT c.state, convert_from(c.value, 'UTF8'), c.token, c.won, c.lease_left, c.expired
    FROM howdah.claim(cache, convert_to(key, 'UTF8'), lease) AS c;
END;

COMMENT ON FUNCTION howdah.claim_text(text, text, interval) IS
'howdah.claim for text in UTF-8. A value that is not UTF-8, or holds a zero byte,
raises 22021.';

REVOKE ALL ON FUNCTION howdah.claim_text(text, text, interval) FROM PUBLIC;
