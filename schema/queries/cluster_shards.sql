-- In a transaction on one server: shards there may be altered by their own names.
SET LOCAL citus.enable_manual_changes_to_shards = on;
