-- Writes a heartbeat into the row of a reader and returns the time.
--   $1 reader, $2 number of the heartbeat
SELECT howdah.session_beat($1::uuid, $2::bigint)
