-- Bounds the statements of a transaction.
--   $1 statement_timeout in milliseconds
SELECT pg_catalog.set_config('statement_timeout', $1, true)
