package values

import "strings"

// Error is the text of an error reply, code included. The command that returns
// it has changed nothing, unless its documentation says so.
type Error string

func (e Error) Error() string { return string(e) }

// The errors of more than one family.
const (
	ErrWrongType = Error("WRONGTYPE Operation against a key holding the wrong kind of value")
	ErrSyntax    = Error("ERR syntax error")

	// ErrHashInteger and ErrOverflow are those of [Hash.Increment].
	ErrHashInteger = Error("ERR hash value is not an integer")
	ErrOverflow    = Error("ERR increment or decrement would overflow")

	errNotInteger   = Error("ERR value is not an integer or out of range")
	errNotFloat     = Error("ERR value is not a valid float")
	errNotPositive  = Error("ERR value is out of range, must be positive")
	errOutOfRange   = Error("ERR value is out of range")
	errInfinite     = Error("ERR increment would produce NaN or Infinity")
	errIndex        = Error("ERR index out of range")
	errNoKey        = Error("ERR no such key")
	errCursor       = Error("ERR invalid cursor")
	errNumKeys      = Error("ERR numkeys should be greater than 0")
	errManyKeys     = Error("ERR Number of keys can't be greater than number of args")
	errCountNotMore = Error("ERR count should be greater than 0")
	errLimit        = Error("ERR LIMIT can't be negative")
	errLargeString  = Error("ERR string exceeds maximum allowed size (proto-max-bulk-len)")
	errLargeReply   = Error("ERR reply is larger than 64 MiB; ask for fewer elements")
)

func errArity(name string) Error {
	return Error("ERR wrong number of arguments for '" + name + "' command")
}

// lowerName returns the name of a command as error messages give it.
func lowerName(name []byte) string { return strings.ToLower(string(name)) }

func upperName(name []byte) string { return strings.ToUpper(string(name)) }
