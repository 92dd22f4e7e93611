-- The statements that make the schemas of partitions that are missing. They are committed
-- before Citus takes tables into them: else it would tell other servers of the owner's role
-- as the owner, who may not.
SELECT format('CREATE SCHEMA howdah_p%s', lpad(n.number::text, 2, '0'))
FROM howdah.meta AS m CROSS JOIN LATERAL generate_series(0, m.partitions - 1) AS n (number)
WHERE to_regnamespace('howdah_p' || lpad(n.number::text, 2, '0')) IS NULL
ORDER BY n.number
