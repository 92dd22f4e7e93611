-- The heartbeat of a reader, as this server shows it.
--   $1 reader
SELECT r.beat
FROM howdah.session_reader AS r
WHERE r.reader = $1::uuid
