-- Extends sessions by their uses: how many rows were written, and the ids of
-- those that another transaction holds.
--   $1 ids, $2 how long ago each was used
SELECT touched, locked::text[]
FROM howdah.session_touch($1::text[]::uuid[], $2::interval[])
