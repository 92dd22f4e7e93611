package near

import "sync"

// maxOwnRows bounds ownRows, for a process that writes while nothing polls.
const maxOwnRows = 1 << 14

// ownRows are the rows of the change log that polls pass over: those of writes of
// this process that it invalidates itself. See the package comment.
type ownRows struct {
	mu    sync.Mutex
	gen   uint32            // of the entries, see view
	polls uint64            // that were sent
	rows  map[ownRow]uint64 // with polls when the write was answered
}

type ownRow struct {
	xid   uint64
	cache int32
}

// Own says that a write of this process succeeded, and that all its keys in the
// cache are invalidated, by Bump or Wrote, before its callers are answered. So polls
// need not do it. Token is one that was given before the write was sent, start that
// of the server that answered.
func (c *Cache) Own(t Token, xid uint64, start int64) {
	o := &c.m.own
	o.mu.Lock()
	defer o.mu.Unlock()
	if xid != 0 && t.gen == o.gen && start == c.m.view.Load().start && len(o.rows) < maxOwnRows {
		o.rows[ownRow{xid, c.id}] = o.polls
	}
}

// take reports whether a row of the log is of such a write. It comes only once.
func (o *ownRows) take(xid uint64, cache int32) bool {
	row := ownRow{xid, cache}
	o.mu.Lock()
	defer o.mu.Unlock()
	_, own := o.rows[row]
	delete(o.rows, row)
	return own
}

// sent counts a poll that is about to be sent.
func (o *ownRows) sent() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.polls++
}

// expire ends the writes that were answered before the last poll was sent, now that
// it is applied. Their rows were reported by it, or by one before it that was
// applied when they were not noted yet.
func (o *ownRows) expire() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for row, polls := range o.rows {
		if polls < o.polls {
			delete(o.rows, row)
		}
	}
}

// forget ends the writes of former generations: their xids may be given again.
func (o *ownRows) forget(gen uint32) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.gen = gen
	clear(o.rows)
}
