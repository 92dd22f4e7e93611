// Package redisapi is the Redis door: it turns RESP commands into calls of
// package howdah and their results into replies. It knows no sockets; a server
// feeds it bytes and writes the bytes it answers.
//
// Commands are data. One table (table.go and the file of each family) holds
// name, arity, flags, key positions and documentation, and one of four ways
// to run:
//
//   - call: the command is one verb.Call. It is started without waiting;
//     any number of them are in flight for one connection, and the library
//     keeps their order per key.
//   - now: the command needs no database. It is answered in its turn.
//   - subscribes: the command changes the subscriptions of its connection; its
//     reply and the change are one step, between two messages.
//   - run: the command needs several steps or a whole cache. It waits until
//     the connection's earlier commands are answered, runs in a goroutine of
//     its own, and later commands wait for it.
//
// A command that waits for a key (BLPOP, say) is an edit that may leave a waiter behind: it
// has the connection to itself as a task has, and no goroutine (blocking.go).
//
// Replies always leave in the order of the commands.
package redisapi
