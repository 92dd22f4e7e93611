// Package fault holds the errors that callers tell apart, and turns the errors
// of PostgreSQL and of its driver into them.
package fault

import (
	"errors"
	"fmt"
)

// The errors that a caller tells apart with errors.Is. Package howdah documents
// them.
var (
	ErrMiss           = errors.New("howdah: key not found")
	ErrNotStored      = errors.New("howdah: condition not met, nothing stored")
	ErrNotInteger     = errors.New("howdah: value is not an integer or out of range")
	ErrOverflow       = errors.New("howdah: increment or decrement would overflow")
	ErrNotFloat       = errors.New("howdah: value is not a valid float")
	ErrWrongType      = errors.New("howdah: the key holds another kind of value")
	ErrKeyTooLong     = errors.New("howdah: key too long")
	ErrValueTooLarge  = errors.New("howdah: value too large")
	ErrInvalidTag     = errors.New("howdah: invalid tag")
	ErrIsolation      = errors.New("howdah: the transaction's isolation level is too high")
	ErrInvalidTTL     = errors.New("howdah: invalid TTL")
	ErrCacheNotFound  = errors.New("howdah: cache not found")
	ErrCacheExists    = errors.New("howdah: cache already exists")
	ErrInvalidName    = errors.New("howdah: invalid cache name")
	ErrInvalidSetting = errors.New("howdah: invalid cache setting")
	ErrCacheInUse     = errors.New("howdah: cache in use")
	ErrCollision      = errors.New("howdah: hash collision with another live key")
	ErrCacheFull      = errors.New("howdah: cache is over its budget and its policy is noeviction")
	ErrOverloaded     = errors.New("howdah: too many calls are waiting")
	ErrUnavailable    = errors.New("howdah: database unavailable")
	ErrUnknownOutcome = errors.New("howdah: outcome unknown, the write may have been applied")
	ErrTimeout        = errors.New("howdah: deadline exceeded")
	ErrSchemaMissing  = errors.New("howdah: schema missing or too old")
	ErrSchemaTooNew   = errors.New("howdah: schema is newer than this program")
	ErrPermission     = errors.New("howdah: permission denied")
	ErrClosed         = errors.New("howdah: closed")
	ErrNotRunning     = errors.New("howdah: messages need DB.Run, which does not run")
	ErrWatch          = errors.New("howdah: a watched key changed")
	ErrCrossPartition = errors.New("howdah: the keys are of several partitions")
)

// ErrElsewhere is the ErrUnavailable of a partition that is on another server than the one
// that was asked. Nothing was done.
var ErrElsewhere = fmt.Errorf("%w: the partition is on another server", ErrUnavailable)

// MaxCollectionBytes is the largest packed form that a collection may have.
const MaxCollectionBytes = 1 << 20

// ErrLargeCollection is the ErrValueTooLarge of a hash, list, set or sorted set.
var ErrLargeCollection = fmt.Errorf("%w: a collection may have %d bytes", ErrValueTooLarge, MaxCollectionBytes)

// ServerError is an error of one of several servers: which one, and what.
type ServerError struct {
	Address string // host:port
	Err     error
}

func (e *ServerError) Error() string { return "server " + e.Address + ": " + e.Err.Error() }
func (e *ServerError) Unwrap() error { return e.Err }
