-- The migrations that were applied, in their order.
SELECT version,
       name,
       breaking,
       to_char(applied_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
FROM howdah.migration
ORDER BY version
