-- What follows in this transaction is for this server alone.
SET LOCAL citus.enable_ddl_propagation = off;
