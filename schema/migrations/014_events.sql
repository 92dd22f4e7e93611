-- Keyspace events: which ones are published, for all processes that use the database.
-- Programs of schema 13 go on: they publish none.
CREATE TABLE howdah_internal.notification (
    singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
    events    text    NOT NULL DEFAULT ''
              CHECK (events ~ '^[AKEg$lshzxetdnm]*$')  -- the letters of notify-keyspace-events of Redis
) WITH (fillfactor = 20);

INSERT INTO howdah_internal.notification DEFAULT VALUES;

-- What SQL functions ask first: they have this row in hand.
ALTER TABLE howdah_internal.cache
    ADD COLUMN events boolean NOT NULL DEFAULT false;  -- some are published; howdah_internal.notification says which

COMMENT ON TABLE howdah_internal.notification IS
    'One row: which keyspace events are published, as CONFIG SET notify-keyspace-events has set it.';
