package fault

import (
	"context"
	"errors"
)

// Reason says in one word why a call failed, for counting.
type Reason int

const (
	ReasonOther          Reason = iota // any other
	ReasonTimeout                      // ErrTimeout, or the caller's deadline
	ReasonUnavailable                  // ErrUnavailable, or ErrClosed
	ReasonUnknownOutcome               // ErrUnknownOutcome
	ReasonOverloaded                   // ErrOverloaded
	ReasonCacheFull                    // ErrCacheFull
	ReasonPermission                   // ErrPermission
	ReasonCollision                    // ErrCollision
	ReasonRequest                      // what was asked for is not possible: a value of another kind, a key that is too long, no such cache
	Reasons                            // how many there are
)

// String returns the word, in lower case.
func (r Reason) String() string {
	return [Reasons]string{
		"other", "timeout", "unavailable", "unknown_outcome", "overloaded", "cache_full", "permission", "collision", "request",
	}[r]
}

// reasons are the errors of each reason. An error may wrap several: the first
// counts.
var reasons = []struct {
	reason Reason
	errs   []error
}{
	{ReasonUnknownOutcome, []error{ErrUnknownOutcome}},
	{ReasonTimeout, []error{ErrTimeout, context.DeadlineExceeded}},
	{ReasonUnavailable, []error{ErrUnavailable, ErrClosed}},
	{ReasonOverloaded, []error{ErrOverloaded}},
	{ReasonCacheFull, []error{ErrCacheFull}},
	{ReasonPermission, []error{ErrPermission}},
	{ReasonCollision, []error{ErrCollision}},
	{ReasonRequest, []error{
		ErrNotInteger, ErrOverflow, ErrNotFloat, ErrWrongType, ErrKeyTooLong, ErrValueTooLarge, ErrInvalidTag, ErrIsolation,
		ErrInvalidTTL, ErrCacheNotFound, ErrInvalidName, ErrCrossPartition,
	}},
}

// ReasonOf returns the reason of an error of a call.
func ReasonOf(err error) Reason {
	for _, r := range reasons {
		for _, sentinel := range r.errs {
			if errors.Is(err, sentinel) {
				return r.reason
			}
		}
	}
	return ReasonOther
}
