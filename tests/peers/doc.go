// Package peers judges the API beside other programs of the house of PostgreSQL:
// behind pgbouncer, and with pg_cron. Its tests have the build tag peers and need these
// programs.
package peers
