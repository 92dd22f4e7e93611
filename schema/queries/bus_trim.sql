-- Removes old messages and what else has its clock in common with them; at most once a
-- second, by one process at a time.
--   $1 after so many milliseconds it begins nothing new
SELECT howdah_internal._trim_log(clock_timestamp() + $1::integer * interval '1 millisecond')
