// Package peers starts the real servers that tests compare Howdah with, or put before
// it: redis-server, memcached, pgbouncer. Each test gets servers of its own, on ports
// that nobody else has, and its end stops them. A program that is not installed is a
// failure, never a skip.
//
// All but this comment has the build tag peers.
package peers
