CREATE OR REPLACE FUNCTION howdah_internal._announce(cache text, class text, event text, keys bytea[]) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    -- As in the names of Redis's channels: the number of a database, or the name of the cache.
    label CONSTANT text  := CASE WHEN cache ~ '^db([0-9]|1[0-5])$' THEN substr(cache, 3) ELSE cache END;
    name  CONSTANT bytea := convert_to(event, 'UTF8');
BEGIN
    IF coalesce(cardinality(keys), 0) = 0 OR NOT howdah_internal._wants_events(class) THEN
        RETURN;
    END IF;
    -- For each key, first what its own channel gets, then what that of the event gets. A
    -- row has 1,000 keys at most.
    INSERT INTO howdah_internal.bus (sender, kinds, channels, payloads)
    SELECT 0, array_agg(1::smallint),
           array_agg(m.channel ORDER BY k.place, m.place), array_agg(m.payload ORDER BY k.place, m.place)
    FROM howdah_internal.notification AS n
    CROSS JOIN unnest(keys) WITH ORDINALITY AS k (key, place)
    CROSS JOIN LATERAL (VALUES
        (1, 'K', convert_to('__keyspace@' || label || '__:', 'UTF8') || k.key, name),
        (2, 'E', convert_to('__keyevent@' || label || '__:', 'UTF8') || name, k.key)
    ) AS m (place, letter, channel, payload)
    WHERE strpos(n.events, m.letter) > 0
    GROUP BY (k.place - 1) / 1000
    ORDER BY (k.place - 1) / 1000;
    -- As howdah.publish.
    IF EXISTS (SELECT FROM howdah_internal.server AS s
               WHERE s.notified AND s.renewed_at > statement_timestamp() - interval '15 seconds') THEN
        PERFORM pg_notify('howdah', '');
    END IF;
END
$$;

COMMENT ON FUNCTION howdah_internal._announce(text, text, text, bytea[]) IS
'Internal. Publishes, at COMMIT, that an event has happened to each of some keys, if such
events are published and a process wants messages. class is its letter in
notify-keyspace-events.';

REVOKE ALL ON FUNCTION howdah_internal._announce(text, text, text, bytea[]) FROM PUBLIC;
