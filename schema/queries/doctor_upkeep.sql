-- The seconds since the last round of upkeep, negative: there was none; whether a
-- process leads it; and whether pg_cron is installed.
SELECT coalesce(extract(epoch FROM clock_timestamp() - max(u.last_round)), -1)::float8,
       EXISTS (SELECT FROM howdah.leader AS l WHERE l.until > clock_timestamp()),
       EXISTS (SELECT FROM pg_extension AS e WHERE e.extname = 'pg_cron')
FROM howdah.upkeep AS u
