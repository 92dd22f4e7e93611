CREATE OR REPLACE FUNCTION howdah_internal._set_events(letters text) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
BEGIN
    -- This row first, as in howdah.create_cache: whoever comes second waits here, and then
    -- sees what the first has done.
    INSERT INTO howdah_internal.notification (events) VALUES (letters)
    ON CONFLICT (singleton) DO UPDATE SET events = excluded.events;
    UPDATE howdah_internal.cache AS c
    SET events = NOT c.events
    WHERE c.events <> (letters ~ '[KE]' AND letters ~ '[^KE]');
END
$$;

COMMENT ON FUNCTION howdah_internal._set_events(text) IS
'Internal. Sets which keyspace events are published, for all processes. letters: as of
notify-keyspace-events.';

REVOKE ALL ON FUNCTION howdah_internal._set_events(text) FROM PUBLIC;
