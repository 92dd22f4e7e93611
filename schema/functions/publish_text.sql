CREATE OR REPLACE FUNCTION howdah.publish_text(channel text, message text) RETURNS void
LANGUAGE sql VOLATILE
RETURN howdah.publish(convert_to(channel, 'UTF8'), convert_to(message, 'UTF8'));

COMMENT ON FUNCTION howdah.publish_text(text, text) IS
'howdah.publish for text in UTF-8.';

REVOKE ALL ON FUNCTION howdah.publish_text(text, text) FROM PUBLIC;
