// Package dbtest opens databases of Howdah for the tests of its public API, and
// does there what tests in several folders do: run SQL and upkeep, read from memory,
// await what a database does in the background.
//
// A test gets its database from package pgtest:
//
//	db := dbtest.Open(t, pgtest.New(t), nil)
//
// What only one folder of tests needs stays beside the test that needs it.
package dbtest
