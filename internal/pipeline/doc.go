// Package pipeline is one connection between a protocol and a socket: replies
// in the order of the requests, and bounds on what a connection holds.
//
// A [Pipeline] takes requests as they are started and their outcomes in any
// order, and gives the replies back in the order of the requests. It says when
// another request may be started, and calls Wake when there is something to
// write or to read. Messages that answer no request are pushed between the replies.
// An [Output] is what is to be written: small replies are
// copied into it, large values are kept by reference, so that one value that
// thousands of requests ask for is in memory once. A [Budget] bounds what all
// connections of a server hold together.
//
// The package knows no protocol and no socket.
package pipeline
