-- What this connection makes and changes stays on this server.
SET citus.enable_ddl_propagation = off
