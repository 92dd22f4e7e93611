package verb

import "github.com/howdah/howdah/internal/fault"

// Status is how a Call ended if no error stopped it.
type Status uint8

// The statuses. Everything but OK left the data unchanged.
const (
	OK Status = iota
	Miss
	NotStored
	NotInteger
	Overflow
	NotFloat
	TooLarge
	Collision
	CacheFull
	WrongType // the entry is of a kind that the verb does not take
)

var statusErrors = [...]error{
	Miss: fault.ErrMiss, NotStored: fault.ErrNotStored, NotInteger: fault.ErrNotInteger, Overflow: fault.ErrOverflow,
	NotFloat: fault.ErrNotFloat, TooLarge: fault.ErrValueTooLarge, Collision: fault.ErrCollision, CacheFull: fault.ErrCacheFull,
	WrongType: fault.ErrWrongType,
}

// Err returns the status as an error, nil for OK.
func (s Status) Err() error { return statusErrors[s] }
