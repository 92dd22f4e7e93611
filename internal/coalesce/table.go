package coalesce

// TableOptions configure a Table.
type TableOptions struct {
	// MaxQueueBytes bounds what is queued for this table; beyond it ops are
	// refused with ErrOverloaded. Each op counts its Bytes and a few hundred
	// more. 0 means 64 MiB.
	MaxQueueBytes int
	// Owner is the caller's own; see Table.Owner.
	Owner any
}

// Table is a space of keys: equal keys of one Table are the same key, equal
// numbers in different Tables are not. Make one with Coalescer.NewTable. A
// Table needs no closing: once nothing refers to it and none of its ops is
// under way, it is garbage.
type Table struct {
	c   *Coalescer
	opt TableOptions

	// All below is guarded by the Coalescer's mutex.
	keys         map[uint64]*keyQueue
	feeds        [laneCount]feed // what is ready, by lane
	suspects     map[uint64]suspicion
	suspectsKept int       // size of suspects after its last cleaning
	locked       suspicion // of the whole table

	queuedOps, queuedBytes int
	reserved               int // bytes; see Reserve
	stats                  TableStats
}

// NewTable makes a Table whose ops share the flights of c.
func (c *Coalescer) NewTable(opt TableOptions) *Table {
	defaultTo(&opt.MaxQueueBytes, 64<<20)
	t := &Table{c: c, opt: opt, keys: make(map[uint64]*keyQueue), suspects: make(map[uint64]suspicion)}
	for i := range t.feeds {
		t.feeds[i].init(t, &c.lanes[i])
	}
	return t
}

// Reserve counts bytes that wait beside the ops, for a caller that makes ops of them
// later, towards MaxQueueBytes until Unreserve. Error: ErrOverloaded.
func (t *Table) Reserve(bytes int) error {
	c := t.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.full(bytes) {
		return ErrOverloaded
	}
	t.reserved += bytes
	c.reserved += bytes
	return nil
}

// Unreserve takes back a Reserve of as many bytes.
func (t *Table) Unreserve(bytes int) {
	c := t.c
	c.mu.Lock()
	t.reserved -= bytes
	c.reserved -= bytes
	c.mu.Unlock()
}

// full reports whether what waits leaves no room for more bytes, and counts that. What
// nothing waits before has room.
func (t *Table) full(bytes int) bool {
	c := t.c
	own, all := t.queuedBytes+t.reserved, c.queuedBytes+c.reserved
	full := own > 0 && own+bytes > t.opt.MaxQueueBytes || all > 0 && all+bytes > c.opt.MaxQueueBytes
	if full {
		t.stats.Overloaded++
	}
	return full
}

// Owner returns TableOptions.Owner.
func (t *Table) Owner() any { return t.opt.Owner }

// lane chooses the lane of an op whose keys are granted.
func (t *Table) lane(op *Op) *lane {
	c := t.c
	switch {
	case t.locked.until != 0 && t.isolates(op):
		return &c.lanes[isolated]
	case len(t.suspects) > 0 && t.suspect(op):
		return &c.lanes[alone]
	case op.Kind == Read:
		return &c.lanes[reads]
	}
	return &c.lanes[writes]
}
