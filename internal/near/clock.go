package near

import "time"

// Instant is a reading of two clocks, in nanoseconds. The monotonic clock stands
// still while a laptop or a virtual machine sleeps, the wall clock may be set
// back: what must end is over when it is over by either of them.
type Instant struct{ mono, wall int64 }

// before tells whether i is before end by both clocks.
func (i Instant) before(end Instant) bool { return i.mono < end.mono && i.wall < end.wall }

func (i Instant) add(d time.Duration) Instant { return Instant{i.mono + int64(d), i.wall + int64(d)} }

// since returns the monotonic time from earlier to i.
func (i Instant) since(earlier Instant) time.Duration { return time.Duration(i.mono - earlier.mono) }

// instant converts a time, which has both readings if it comes from time.Now.
func (m *Memory) instant(t time.Time) Instant { return Instant{int64(t.Sub(m.base)), t.UnixNano()} }
