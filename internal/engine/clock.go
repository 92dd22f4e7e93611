package engine

import (
	"sync/atomic"
	"time"
)

// clock is that of the database, by which everything expires, as far as its answers
// tell it. The clock of this process may be wrong.
type clock struct {
	ahead atomic.Int64 // microseconds: the clock of the database less that of this process
}

// NoteTime notes what the clock of the database said in an answer that has just come,
// in microseconds since 1970. 0: the answer did not say.
func (e *Engine) NoteTime(now int64) {
	if now != 0 {
		e.set.clock.ahead.Store(now - time.Now().UnixMicro())
	}
}

// Now returns the time by the clock of the database, in microseconds since 1970. It
// lags by the time that the last answer took on its way.
func (e *Engine) Now() int64 { return time.Now().UnixMicro() + e.set.clock.ahead.Load() }
