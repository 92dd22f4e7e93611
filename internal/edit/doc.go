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
//
// # Waiters
//
// A [Waiter] is a caller of a blocking command. An edit looks whether there is something
// for it; if not, that edit puts it in line for its keys before the keys are free, so
// that nothing can come unnoticed. After each function of a group, the waiters for the
// group's keys run theirs over what it has left, the longest waiting first. What they
// take is so stored with what the edit has brought, by one commit, or not at all.
//
// A waiter that a group has served is pinned until the outcome of the commit is known: no
// other group serves it, and no timeout ends it. If nothing was stored it has its place
// again. If the outcome stays unknown, it ends with that error: what was taken for it may
// be lost, but is never given out twice. A waiter for several keys to which another group comes
// meanwhile looks again when it is pinned no more.
//
// What comes in a transaction of the caller is given out by [ServeIn]. What comes without an
// edit of this process is found by [Waiters.Came], [Waiters.Ready] or, within a second, by
// [Waiters.Run].
package edit
