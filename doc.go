// Package howdah is a cache on PostgreSQL: tables of the database that an
// application already has, used at the speed of a cache server, with
// transactions, SQL and one thing to run.
//
//	db, err := howdah.Open(ctx, "postgres://app@localhost/app", nil)
//	pages := db.Cache("pages")
//	err = pages.Set(ctx, "/", body, time.Minute)
//	body, err = pages.Get(ctx, "/")
//	if errors.Is(err, howdah.ErrMiss) { ... }
//
// The schema is installed once, by "howdah migrate" or package migrate;
// opening a database never changes it. Caches are made by DB.CreateCache or
// SELECT howdah.create_cache('pages'); migrate makes "db0".
//
// # Speed
//
// Calls that are made at the same time, by any number of goroutines, share
// statements: PostgreSQL answers one SELECT for a hundred keys several times
// faster than a hundred. A lone call goes out at once. A call returns when
// PostgreSQL has answered it; nothing is acknowledged from memory.
//
// # Transactions
//
// Cache.With(tx) runs the same verbs inside the application's transaction:
// data and cache are committed together, or not at all.
//
// # Loading what is missing
//
// Cache.Fetch returns the value of a key, or loads and stores it: once for all who
// ask, in all processes. What is invalidated while it is loaded is not stored.
//
// # Errors
//
// A miss is ErrMiss. Every other error says what to do, and wraps one of the
// sentinels of this package. A write that returns ErrUnknownOutcome may have
// been applied; after every other error it was not, but for a write of many keys of which
// the method says otherwise.
package howdah
