-- What this connection does from now on is for all servers.
SET citus.enable_ddl_propagation = on
