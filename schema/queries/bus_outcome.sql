-- Whether a transaction was committed.
--   $1 its number
SELECT coalesce(pg_catalog.pg_xact_status($1::text::xid8) = 'committed', false)
