-- What follows in this transaction is for all servers.
SET LOCAL citus.enable_ddl_propagation = on;
SET LOCAL citus.enable_schema_based_sharding = on;
