-- Renews the lease of upkeep, or takes it from a leader that is gone: one row,
-- or none.
--   $1 holder, $2 for how long
UPDATE howdah.leader
SET holder = $1::text,
    until  = statement_timestamp() + $2::interval
WHERE singleton = (SELECT singleton
                   FROM howdah.leader
                   WHERE holder = $1::text OR until < statement_timestamp()
                   FOR UPDATE SKIP LOCKED)
