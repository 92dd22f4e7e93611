package observe

import (
	"cmp"
	"log/slog"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Bounds of a SlowLog.
const (
	DefaultSlowCalls = 128  // how many are kept
	MaxSlowCalls     = 4096 // how many can be kept
	maxSlowKey       = 64   // bytes of a key that are shown
	maxSlowText      = 64   // bytes of each thing that a client says of itself
)

// SlowOff is the threshold of a SlowLog that notes nothing.
const SlowOff time.Duration = -1

// SlowCall is a call that took long. It never has a value in it.
type SlowCall struct {
	ID       int64 // from 0 on; Reset does not begin again
	Time     time.Time
	Duration time.Duration

	// Of Duration: waiting to be sent, for the caller's earlier calls on the key, for a
	// connection, or for room; the statement, its commit, and what runs over its values;
	// and waiting because another transaction held the row or the table. A statement
	// that met such a lock counts as waiting, and so does all behind it.
	Queued, Statement, Blocked time.Duration

	Writes bool   // it changes entries, or may
	Failed bool   // it ended with an error
	Verb   string // such as "set"; "edit": a command on a collection, or a script; "": it is none
	Cache  string
	Key    string // the first one, cut to 64 bytes; its secret is masked
	Keys   int    // how many there are

	// Batch is how many keys the statement carried, those of other calls included. 0: it
	// is not known.
	Batch int

	Client
	Command string // of Redis, or method and route of HTTP; "": the verb says it
}

// Op is "write" or "read".
func (c *SlowCall) Op() string {
	if c.Writes {
		return "write"
	}
	return "read"
}

// What is the command, or the verb where there is none.
func (c *SlowCall) What() string { return cmp.Or(c.Command, c.Verb) }

// SlowLog remembers the last calls that took long. It is safe for concurrent use. A nil
// *SlowLog remembers nothing.
type SlowLog struct {
	threshold atomic.Int64 // nanoseconds; math.MaxInt64: off
	reads     atomic.Uint64
	writes    atomic.Uint64
	mask      *Mask
	logger    *slog.Logger

	mu     sync.Mutex
	ring   []SlowCall // its length is how many are kept
	total  int64      // the next ID
	count  int        // how many there are
	logged time.Time  // when the logger got the last line
	unsaid int        // calls since that it got no line for
}

// NewSlowLog returns a SlowLog that notes calls of threshold and longer, and keeps the last
// [DefaultSlowCalls] of them. SlowOff notes none; 0 notes all. mask hides secrets in keys.
// The logger gets one line a second at most; nil: it gets none.
func NewSlowLog(threshold time.Duration, mask *Mask, logger *slog.Logger) *SlowLog {
	l := &SlowLog{mask: mask, logger: logger, ring: make([]SlowCall, DefaultSlowCalls)}
	l.SetThreshold(threshold)
	return l
}

// Mask returns what hides the secrets in the keys. It may be nil, which has the built-in
// patterns.
func (l *SlowLog) Mask() *Mask {
	if l == nil {
		return nil
	}
	return l.mask
}

// On reports whether calls are noted: those who end them must time them.
func (l *SlowLog) On() bool { return l != nil && l.threshold.Load() != math.MaxInt64 }

// IsSlow reports whether a call that took so many nanoseconds is to be noted.
func (l *SlowLog) IsSlow(nanoseconds int64) bool {
	return l != nil && nanoseconds >= l.threshold.Load()
}

// Threshold returns the time from which on a call is noted, or SlowOff.
func (l *SlowLog) Threshold() time.Duration {
	if !l.On() {
		return SlowOff
	}
	return time.Duration(l.threshold.Load())
}

// SetThreshold changes Threshold. What is negative is SlowOff.
func (l *SlowLog) SetThreshold(d time.Duration) {
	if l == nil {
		return
	}
	if d < 0 {
		d = math.MaxInt64
	}
	l.threshold.Store(int64(d))
}

// Max returns how many calls are kept.
func (l *SlowLog) Max() int {
	if l == nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.ring)
}

// SetMax changes how many calls are kept, 0 to [MaxSlowCalls]. The last ones stay.
func (l *SlowLog) SetMax(n int) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	n = max(0, min(n, MaxSlowCalls))
	kept := l.recent(n)
	l.ring, l.count = make([]SlowCall, n), 0
	for i := len(kept) - 1; i >= 0; i-- {
		l.keep(kept[i])
	}
}

// Note remembers a call, whose Key is the whole key. ID and the mask are added.
func (l *SlowLog) Note(c SlowCall) {
	if l == nil {
		return
	}
	c.Key, _ = l.mask.KeyCut([]byte(c.Key), maxSlowKey)
	c.Name, c.Library, c.Version, c.Command = brief(c.Name), brief(c.Library), brief(c.Version), brief(c.Command)
	if c.Writes {
		l.writes.Add(1)
	} else {
		l.reads.Add(1)
	}
	l.mu.Lock()
	c.ID = l.total
	l.total++
	l.keep(c)
	unsaid, say := l.unsaid, l.logger != nil && time.Since(l.logged) >= time.Second
	if say {
		l.logged, l.unsaid = time.Now(), 0
	} else {
		l.unsaid++
	}
	l.mu.Unlock()
	if say {
		l.say(&c, unsaid)
	}
}

// keep puts a call into the place of the oldest one. The lock is held.
func (l *SlowLog) keep(c SlowCall) {
	if n := int64(len(l.ring)); n > 0 {
		l.ring[c.ID%n] = c
		l.count = min(l.count+1, len(l.ring))
	}
}

func (l *SlowLog) say(c *SlowCall, unsaid int) {
	l.logger.Warn("slow call", "command", c.What(), "cache", c.Cache, "key", c.Key, "keys", c.Keys,
		"took", c.Duration, "queued", c.Queued, "statement", c.Statement, "blocked", c.Blocked, "failed", c.Failed,
		"door", c.Door, "client", c.Address, "name", c.Name, "library", c.Library, "others_not_logged", unsaid)
}

// Recent returns the last n calls that are kept, the last one first; all if n is negative.
func (l *SlowLog) Recent(n int) []SlowCall {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if n < 0 {
		n = l.count
	}
	return l.recent(n)
}

func (l *SlowLog) recent(n int) []SlowCall {
	calls := make([]SlowCall, 0, min(n, l.count))
	for i := range int64(cap(calls)) {
		calls = append(calls, l.ring[(l.total-1-i)%int64(len(l.ring))])
	}
	return calls
}

// Len returns how many calls are kept now.
func (l *SlowLog) Len() int {
	if l == nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count
}

// Reset forgets the calls that are kept. The counts stay.
func (l *SlowLog) Reset() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.ring)
	l.count = 0
}

// Counts returns how many calls were noted since the start, by what they do.
func (l *SlowLog) Counts() (reads, writes uint64) {
	if l == nil {
		return 0, 0
	}
	return l.reads.Load(), l.writes.Load()
}

// brief is what is kept of a text that a client has chosen.
func brief(text string) string {
	if len(text) > maxSlowText {
		return strings.ToValidUTF8(text[:maxSlowText], "") + "..."
	}
	return text
}
