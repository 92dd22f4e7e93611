package engine

import (
	"time"

	"github.com/howdah/howdah/internal/coalesce"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/statement"
)

// Hold gives op the place of a write among the calls of this process on the keys,
// and calls granted when it holds all of them: before Hold returns, or on another
// goroutine. Calls with verb.Call.Held use the keys until Release. What memory has
// of the keys is over from now on, as it is with a write.
//
// Granted is called exactly once. Errors: as of a write that was not sent.
func (e *Engine) Hold(op *coalesce.Op, keys [][]byte, granted func(error)) {
	op.Keys = op.Keys[:0]
	for _, key := range keys {
		op.Keys = append(op.Keys, uint64(e.set.Hash(key)))
	}
	op.Table = e.keys
	op.Deadline = coalesce.Now() + int64(e.set.Timeout)
	e.invalidate(op.Keys)
	e.set.coalescer.Hold(op, func(err error) {
		if err != nil {
			err = callError(err, statement.Set)
		}
		granted(err)
	})
	e.invalidate(op.Keys)
}

// Release frees what Hold was granted.
func (e *Engine) Release(op *coalesce.Op) { e.set.coalescer.Release(op) }

// Reserve counts the bytes of an edit towards Options.MaxQueueBytes, until Unreserve.
// Error: ErrOverloaded.
func (e *Engine) Reserve(bytes int) error {
	if e.keys.Reserve(bytes) != nil {
		return fault.ErrOverloaded
	}
	return nil
}

// Unreserve takes back a Reserve of as many bytes.
func (e *Engine) Unreserve(bytes int) { e.keys.Unreserve(bytes) }

// IsNewest reports whether nothing has come for the only key of op since Hold.
func (e *Engine) IsNewest(op *coalesce.Op) bool { return e.set.coalescer.IsNewest(op) }

// Timeout is Options.Timeout.
func (e *Engine) Timeout() time.Duration { return e.set.Timeout }

// MaxValueBytes is Options.MaxValueBytes.
func (e *Engine) MaxValueBytes() int { return e.set.MaxValueBytes }
