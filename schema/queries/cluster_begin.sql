-- In a change of all servers, on one of them: the next statement goes to others too.
SET LOCAL citus.propagate_set_commands = 'local';
