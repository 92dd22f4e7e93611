-- About how many rows the sessions have, and whether the upkeep of the database
-- has looked after them within the last two intervals.
--   $1 interval
SELECT coalesce(pg_stat_get_live_tuples('howdah.session'::regclass::oid), 0),
       EXISTS (SELECT FROM howdah.upkeep AS u
               WHERE u.cache = 'howdah.session'
                 AND u.last_round > statement_timestamp() - 2::float8 * $1::interval)
