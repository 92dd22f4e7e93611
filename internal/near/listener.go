package near

import (
	"context"
	"time"
)

// Listener learns of the changes that polls find, but for those of writes of this
// process that Own was told of. There are polls while it is Wanted, also where nothing
// is kept in memory. Its methods are called by Run, one at a time, and must be quick.
//
// It is told of a change after all that memory holds was invalidated. So what begins to
// listen for a key, and then finds the key in memory, will be told of each change that
// what it found does not have.
type Listener interface {
	// Wanted reports whether somebody listens. It may be called from any goroutine.
	Wanted() bool
	// Changed says that a key with this hash has changed, in some cache.
	Changed(hash int64)
	// ChangedKeys says which keys the hashes of a poll are of, as far as the log has keys,
	// but for those of changes with Own.
	ChangedKeys(keys [][]byte)
	// MissedKeys says that keys have changed that the log should have, and has not.
	MissedKeys()
	// Missed says that all may have changed: a whole cache has, by others, or changes were missed,
	// or no poll has been answered for a second, or for the bound if that is longer. While
	// polls fail it is called again each second, or bound.
	Missed()
	// Tick tells the time after each poll.
	Tick(now time.Time)
}

// outageLimit is how long polls may fail before the Listener is told that it misses
// changes.
func (m *Memory) outageLimit() time.Duration { return max(time.Second, m.options.Bound) }

func (m *Memory) listened() bool { return m.options.Listener != nil && m.options.Listener.Wanted() }

// tell tells the Listener of changes.
func (m *Memory) tell(changes []Change) {
	if !m.listened() {
		return
	}
	for _, change := range changes {
		for _, hash := range change.Hashes {
			m.options.Listener.Changed(hash)
		}
		if change.Hashes == nil && !change.Own {
			m.options.Listener.Missed()
		}
	}
	m.tellKeys(changes)
}

// tellKeys tells the Listener of the keys of changes, once for all of them.
func (m *Memory) tellKeys(changes []Change) {
	var keys [][]byte
	missed := false
	for _, change := range changes {
		switch {
		case change.Own, change.Keys == nil:
		case len(change.Keys) == 0:
			missed = true
		default:
			keys = append(keys, change.Keys...)
		}
	}
	if missed {
		m.options.Listener.MissedKeys()
	}
	if len(keys) > 0 {
		m.options.Listener.ChangedKeys(keys)
	}
}

func (m *Memory) tellMissed() {
	if m.listened() {
		m.options.Listener.Missed()
	}
}

// tellOutage is called after a poll that failed.
func (l *loop) tellOutage(now Instant) {
	limit := l.m.outageLimit()
	if (l.heard == (Instant{}) || now.since(l.heard) >= limit) && (l.told == (Instant{}) || now.since(l.told) >= limit) {
		l.told = now
		l.m.tellMissed()
	}
}

func (m *Memory) tellTime(now Instant) {
	if m.listened() {
		m.options.Listener.Tick(time.Unix(0, now.wall))
	}
}

// Wake must be called when the Listener begins to be Wanted: Run does not look while it waits. It may be called from any
// goroutine.
func (m *Memory) Wake() { m.ask() }

// Follow polls at once, and returns true when a poll that was sent after the call has
// been answered and applied, so that what is tracked from then on is known to be
// followed. It returns false if ctx ends before that.
func (m *Memory) Follow(ctx context.Context) bool { return m.awaitPoll(ctx.Done(), nil) }
