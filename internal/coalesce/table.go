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
