-- In a change of all servers, on one of them. What follows is for this server alone, unless
-- it says otherwise.
SET LOCAL citus.enable_ddl_propagation = off;
SET LOCAL howdah.all_servers = on;
SET LOCAL citus.propagate_set_commands = 'local';
