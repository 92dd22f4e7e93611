// Package edit runs functions over the decoded values of a cache: the commands on
// collections, transactions and scripts. A function sees the entries of its keys as
// they are, changes them in memory, and what it changed is stored all or nothing.
//
// # How an edit goes
//
// An [Edit] takes its place in line for its keys, as a write of them does, so that
// the calls of one connection act in their order (engine.Engine.Hold). When it holds
// the keys, their entries are loaded, the function runs, and what it changed is
// committed under the condition that nobody has changed an entry since: by its
// version, or, for an absent key, by its absence. If somebody has, all of that is
// done again. PostgreSQL holds no lock while a function runs.
//
// Edits of one key that wait at the same time are one group: one load and one commit
// serve all of them, and each sees what the ones before it did. An edit may join
// a group until the group's functions begin to run, as long as nothing else has come
// for the key since.
//
// A function may ask for keys that the edit has not named. They are loaded, and the
// function runs again from its beginning; it must therefore be repeatable.
package edit
