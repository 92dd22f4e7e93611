-- The number of live entries.
SELECT count(*)
FROM {table}
WHERE expires_at > statement_timestamp(){and_here}
