-- Sets which keyspace events are published.
--   $1 the letters of notify-keyspace-events
SELECT howdah_internal._set_events($1::text)
