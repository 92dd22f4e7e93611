// Package server puts the doors of Howdah on sockets: RESP and HTTP listeners,
// TLS, limits, health, metrics, and an orderly shutdown. [Run] is the whole
// life of one server.
//
// # How connections are driven
//
// A protocol is a [Protocol]: bytes in, bytes out, and no socket. RESP is the one
// there is; package redisapi implements it. Two drivers move bytes between it and
// the network, and know of the protocol only how a connection begins:
//
//   - an event loop per core on Linux (loop_linux.go): one goroutine reads,
//     feeds and writes for thousands of connections, so that the replies of
//     one shared statement go out without a goroutine switch each;
//   - a pair of goroutines per connection on package net (blocking.go), for
//     TLS and for platforms without epoll.
//
// Both keep the same promises: what a client sends is read no faster than it
// can be answered and than the client takes its answers (TCP then slows the
// client down), and a client that takes nothing for Config.StallTimeout is dropped.
//
// What all connections hold together is bounded by Config.MaxClientsMemory
// (package pipeline says how). Large values are written from the memory that the
// answer of PostgreSQL was read into, however many replies they are part of.
//
// The loop is written on epoll itself and not on an event-loop library such as
// gnet, because these promises need a pause of reading and a notice that the
// socket can be written again, and gnet v2.9 offers neither; it also stops as a
// whole when accept runs out of file descriptors.
package server
