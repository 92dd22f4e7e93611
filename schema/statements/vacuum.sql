-- TRUNCATE would need a lock that stops everybody.
VACUUM (SKIP_LOCKED, TRUNCATE FALSE) {table}
