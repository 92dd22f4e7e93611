-- What rounds of upkeep found since, whoever did them.
--   $1 time
SELECT cache, entries, coalesce(bytes, 0), evicted, last_round
FROM howdah.upkeep
WHERE entries IS NOT NULL AND last_round > $1::timestamptz
ORDER BY last_round
