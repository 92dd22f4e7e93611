// Package rediscli is a command-line client of the Redis protocol: it reads
// command lines, sends them to a server, and writes the replies as redis-cli
// does. It works with every server that speaks RESP2 or RESP3.
//
//	client.go    one connection: password, database, reconnection
//	format.go    replies as text for people, as raw bytes, as JSON
//	session.go   command lines one after the other, without a terminal
//	terminal.go  the same in a terminal: prompt, history, completion
//	history.go   what was typed, without what holds passwords
//	table.go     the commands of the server: completion and hints
//	pipe.go      mass insertion
//
// A program opens a [Client] and gives it to a [Session] or to [Pipe].
package rediscli
