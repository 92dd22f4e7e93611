-- The watched tables with their caches, and the statements that end their watches.
SELECT w.shown || ' (' || w.cache || ')', format('SELECT howdah.unwatch_table(%L, %L)', w.shown, w.cache)
FROM howdah_internal._watches() AS w
WHERE w.relation IS NOT NULL
ORDER BY 1
