-- What this connection makes and changes stays on this server, and others are changed too.
SET citus.enable_ddl_propagation = off;
SET howdah.all_servers = on;
