package server

import (
	"time"

	"github.com/howdah/howdah/internal/pipeline"
)

// Protocol is one connection as its protocol sees it: bytes in, bytes out. Feed
// and Output are called by one goroutine at a time each.
type Protocol interface {
	// Feed takes requests from the start of data, which is everything that was
	// received and not consumed, and returns how many bytes it consumed. It does
	// not keep data. Output is called after it.
	Feed(data []byte) (consumed int)

	// Output adds the replies that are ready to out. closing says that no more
	// will follow: write them and close.
	Output(out *pipeline.Output) (closing bool)

	// Need is how many more bytes the request in progress needs at least. It is
	// the client's claim, no reason to allocate so much.
	Need() int

	// Pending tells whether a request is not answered yet, or a reply not taken
	// by Output.
	Pending() bool

	// Ended says that no more input will come. A request that waits for what other
	// clients do is given up.
	Ended()

	// Killed tells whether the connection is to be closed at once, whatever is
	// still to be written.
	Killed() bool

	// Subscriber tells whether the client waits for messages, and so may be silent for as
	// long as it likes.
	Subscriber() bool

	// Backlog takes note of how many bytes of Output's the client has not taken, whenever
	// it did not take all at once: 0 when it has.
	Backlog(bytes int)

	// Unauthenticated is for how long the client has owed a secret, 0 if it
	// owes none.
	Unauthenticated() time.Duration

	// Close forgets the connection. It may be called twice.
	Close()
}

// door is what a driver needs to know of a protocol.
type door struct {
	name    string // in the log
	tooMany []byte // what a client is told when there are too many; it fits into an empty socket

	// connect begins a connection. wake may be called from any goroutine, when
	// replies have become ready or input is wanted again: call Output, then Feed
	// with the input that was not consumed. It calls nothing of the connection
	// but Killed. fd is the connection's file descriptor, 0 if it is not known.
	connect func(remote, local string, fd int, wake func()) Protocol
}
