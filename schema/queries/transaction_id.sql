-- The number of the transaction that asks, which it gets by asking. A poll of the
-- change log shows whether it has ended.
SELECT pg_current_xact_id()
