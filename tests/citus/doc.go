// Package citus judges the API over the servers of a Citus cluster: the contract, and
// histories of calls that must be linearizable while partitions move and servers fail. Its
// tests have the build tag citus and need PostgreSQL 15 with the Citus engine.
package citus
