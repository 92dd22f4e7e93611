-- Removes the row of a process of "howdah serve" that stops.
--   $1 its id
DELETE FROM howdah_internal.process WHERE id = $1::bigint
