-- Gives the lease of upkeep back.
--   $1 holder
UPDATE howdah.leader SET until = '-infinity' WHERE holder = $1::text
