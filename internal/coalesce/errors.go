package coalesce

import (
	"context"
	"errors"
	"fmt"
)

// The errors of this package. Do and done callbacks otherwise give exactly
// what Run passed to Complete.
var (
	// ErrNotSent is matched by every error of an op that had no effect: it
	// was refused, or its caller stopped waiting while it was queued.
	ErrNotSent = errors.New("coalesce: not sent")

	// ErrSent is matched by the error of a caller that stopped waiting after
	// its op was sent: the outcome is unknown. The Op still belongs to its
	// flight; it must be left to the garbage collector, not reused.
	ErrSent = errors.New("coalesce: already sent, outcome unknown")

	// ErrBlocked is matched, beside ErrNotSent, by the error of an op that
	// met somebody else's lock until its deadline.
	ErrBlocked = errors.New("coalesce: blocked by a foreign lock")

	// ErrOverloaded says that MaxQueueBytes are queued. It matches ErrNotSent.
	ErrOverloaded error = &refusal{"coalesce: too many operations are queued"}

	// ErrClosed says that Close was called. It matches ErrNotSent.
	ErrClosed error = &refusal{"coalesce: closed"}

	// ErrIncomplete says that Run returned without completing the op. Whether
	// it had an effect is unknown.
	ErrIncomplete = errors.New("coalesce: Run returned without completing the operation")
)

// What a passed deadline gives; made once because many ops may expire at once.
var (
	errExpired        error = &LeftError{Cause: context.DeadlineExceeded}
	errExpiredBlocked error = &LeftError{Cause: context.DeadlineExceeded, Blocked: true}
	errExpiredBehind  error = &LeftError{Cause: context.DeadlineExceeded, Behind: true}
	errExpiredSent    error = &LeftError{Cause: context.DeadlineExceeded, Sent: true}
)

type refusal struct{ text string }

func (r *refusal) Error() string        { return r.text }
func (r *refusal) Is(target error) bool { return target == ErrNotSent }

// LeftError is the error of an op whose caller stopped waiting, because its
// context ended or its deadline passed. It matches ErrSent or ErrNotSent,
// ErrBlocked if it is set, and Cause.
type LeftError struct {
	Cause   error // context.Cause of the caller's context, or context.DeadlineExceeded
	Sent    bool  // the op had been sent
	Blocked bool  // the op had been blocked by a foreign lock
	Behind  bool  // it waited for ops on its keys that came before it
}

// Error implements error.
func (e *LeftError) Error() string {
	switch {
	case e.Sent:
		return fmt.Sprintf("%v: %v", ErrSent, e.Cause)
	case e.Blocked:
		return fmt.Sprintf("%v: %v", ErrBlocked, e.Cause)
	}
	return fmt.Sprintf("%v: %v", ErrNotSent, e.Cause)
}

// Unwrap gives the cause.
func (e *LeftError) Unwrap() error { return e.Cause }

// Is matches the sentinels that Sent and Blocked stand for.
func (e *LeftError) Is(target error) bool {
	switch target {
	case ErrSent:
		return e.Sent
	case ErrNotSent:
		return !e.Sent
	case ErrBlocked:
		return e.Blocked
	}
	return false
}

// PanicError is what the ops of a flight get when Run panicked.
type PanicError struct {
	Value any
	Stack []byte
}

// Error gives the panic's value and stack.
func (e *PanicError) Error() string {
	return fmt.Sprintf("coalesce: panic in Run: %v\n%s", e.Value, e.Stack)
}

// Unwrap gives the panic's value if it was an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}
