// Package resp is a codec for the Redis serialization protocol, versions 2 and
// 3: https://redis.io/docs/latest/develop/reference/protocol-spec/.
//
// A server uses [Parser] to cut commands out of a buffer of received bytes and
// the Append functions to write replies. A client uses [AppendCommand] and
// [ReadReply]. Parser and Append functions do no input or output of their own,
// so an event loop can use them as well as a goroutine per connection.
//
// What a peer merely announces costs nothing: memory grows with the bytes that
// have arrived, never with a length or count in a header.
package resp

import "errors"

// Limits bounds what a client may send. A zero field means its default; the
// defaults are those of Redis 7.0 unless noted.
type Limits struct {
	// MaxArgs is the number of arguments of a command, its name included.
	// Default 1,048,576, which was Redis's limit up to version 6.2.
	MaxArgs int

	// MaxBulk is the size of one argument in bytes (Redis's
	// proto-max-bulk-len). Default 512 MiB.
	MaxBulk int

	// MaxInline is the length in bytes of an inline command and of a header
	// line. Default 64 KiB.
	MaxInline int

	// MaxCommand is the size in bytes of one whole command as sent (the role
	// of Redis's client-query-buffer-limit). Default 1 GiB.
	MaxCommand int

	// UnauthArgs and UnauthBulk take the place of MaxArgs and MaxBulk, where
	// they are lower, until [Parser.SetAuthenticated]. Defaults 10 arguments
	// and 16 KiB.
	UnauthArgs int
	UnauthBulk int
}

func (l Limits) withDefaults() Limits {
	set := func(field *int, value int) {
		if *field <= 0 {
			*field = value
		}
	}
	set(&l.MaxArgs, 1024*1024)
	set(&l.MaxBulk, 512<<20)
	set(&l.MaxInline, 64<<10)
	set(&l.MaxCommand, 1<<30)
	set(&l.UnauthArgs, 10)
	set(&l.UnauthBulk, 16<<10)
	return l
}

// ProtocolError is input that is not RESP or exceeds a limit, in Redis's own
// words. The server answers it with [AppendProtocolError] and closes.
type ProtocolError string

// Error returns Redis's text, without the code ERR.
func (e ProtocolError) Error() string { return "Protocol error: " + string(e) }

// The protocol errors that [Parser.Parse] returns, besides "expected '$', got
// 'x'".
const (
	ErrMultibulkLength       = ProtocolError("invalid multibulk length")
	ErrBulkLength            = ProtocolError("invalid bulk length")
	ErrMultibulkHeader       = ProtocolError("too big mbulk count string")
	ErrBulkHeader            = ProtocolError("too big bulk count string")
	ErrInlineLength          = ProtocolError("too big inline request")
	ErrUnbalancedQuotes      = ProtocolError("unbalanced quotes in request")
	ErrUnauthMultibulkLength = ProtocolError("unauthenticated multibulk length")
	ErrUnauthBulkLength      = ProtocolError("unauthenticated bulk length")
)

// Input for which Redis closes the connection without an answer, dropping
// replies that are not sent yet.
var (
	// ErrHTTP is a command named POST or Host:. A web page of another site can
	// make a browser send it (https://redis.io/docs/latest/operate/oss_and_stack/management/security/),
	// so nothing behind it may run.
	ErrHTTP = errors.New("HTTP request on the Redis port; use the HTTP address instead")

	// ErrCommandSize is a command larger than [Limits.MaxCommand].
	ErrCommandSize = errors.New("command is larger than the limit for one command")
)
