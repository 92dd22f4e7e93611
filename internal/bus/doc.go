// Package bus carries messages between the processes that use a database.
//
// A message is sent as a part of a row of howdah_internal.bus and announced by one
// NOTIFY. All messages that wait at the same time go in one row: a process has one
// statement under way, and what comes meanwhile waits for the next. Nothing is sent
// unless another process wants it: such a process has a row in howdah_internal.server.
//
// A sender knows those rows as they were 250 ms ago at most, and a receiver waits as long
// before Join says that it takes part. So what is published after that is received.
//
// A receiver reads by a cursor of snapshots, as the change log is read: a message comes
// once, in the first poll after its commit, whatever other transactions are open. A poll
// follows each notification, and there is one each second without. Where notifications
// do not arrive, behind a pooler, say, there is one each 50 ms. A receiver whose polls find
// messages more than 400 times a second asks for no notifications, and polls each 2 ms.
//
// Messages of one sender arrive in the order in which it sent them, and what was cut off on
// its way does not come late: see doubts. A crash of PostgreSQL
// loses those on their way, and those of a receiver that is away for more than about ten
// seconds are removed.
//
// A process that publishes nothing and wants nothing asks PostgreSQL nothing.
package bus
