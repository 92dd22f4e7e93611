-- The watched tables with their caches.
SELECT w.shown || ' (' || w.cache || ')'
FROM howdah_internal._watches() AS w
WHERE w.relation IS NOT NULL
ORDER BY 1
