// Package values holds the types of Redis as values of Go, and the commands on
// them as functions.
//
// A collection (hash, list, set, sorted set) is stored as one packed value; see
// [Encode] and [Decode]. A command is a [Command]: what it is called, which of
// its arguments are keys, and a function that runs it over a [Call]. A call has
// the loaded values of its keys, the time and a source of randomness. Running it
// does no input or output: it leaves what must be written in the entries of the
// keys, and its answer in a [Reply]. So a server, a transaction and a script can
// run the same functions over values that they have loaded.
//
// Replies, errors and the order of checks are those of Redis 7.0; commands that
// came later follow their documentation.
package values
