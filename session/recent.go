package session

import (
	"sync"
	"time"
)

// maxRecent bounds the memory of recent writes. Beyond it all sessions count as
// recently written.
const maxRecent = 100_000

// recent are the sessions and users whose sessions this process wrote within
// Options.MaxStaleness. They are read from the primary: an answer of a standby
// may be older than the write, and what a call has done holds when it returns.
type recent struct {
	span time.Duration

	mu     sync.Mutex
	now    map[subject]time.Time // since turned
	before map[subject]time.Time // in the span before
	turned time.Time
	all    time.Time // everything counts as written at this moment
}

// subject is a session, or all of a user. The zero subject is neither.
type subject struct {
	id   ID
	user string
}

// note notes a write that is done.
func (r *recent) note(s subject) {
	if s == (subject{}) {
		return
	}
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.turned) > r.span {
		r.before, r.now, r.turned = r.now, nil, now
	}
	if len(r.now) >= maxRecent {
		r.now, r.all = nil, now
	}
	if r.now == nil {
		r.now = make(map[subject]time.Time)
	}
	r.now[s] = now
}

// has tells whether one of these was written within the span.
func (r *recent) has(subjects ...subject) bool {
	since := time.Now().Add(-r.span)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range subjects {
		if r.now[s].After(since) || r.before[s].After(since) {
			return true
		}
	}
	return r.all.After(since)
}
