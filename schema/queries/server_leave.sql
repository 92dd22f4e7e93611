-- Removes the row of a process that wants no messages any more.
--   $1 its id
DELETE FROM howdah_internal.server WHERE id = $1::bigint
