package coalesce

// opList is a FIFO of ops linked through prev and next.
type opList struct {
	head, tail *Op
	n          int
	feed       *feed // the feed that the list belongs to, if any
}

func (l *opList) push(op *Op) {
	op.list, op.prev, op.next = l, l.tail, nil
	if l.tail == nil {
		l.head = op
	} else {
		l.tail.next = op
	}
	l.tail = op
	l.added()
}

// insert puts op before next.
func (l *opList) insert(op, next *Op) {
	op.list, op.prev, op.next = l, next.prev, next
	if op.prev == nil {
		l.head = op
	} else {
		op.prev.next = op
	}
	next.prev = op
	l.added()
}

func (l *opList) added() {
	l.n++
	if l.feed != nil {
		l.feed.added()
	}
}

func (l *opList) remove(op *Op) {
	if op.prev == nil {
		l.head = op.next
	} else {
		op.prev.next = op.next
	}
	if op.next == nil {
		l.tail = op.prev
	} else {
		op.next.prev = op.prev
	}
	op.list, op.prev, op.next = nil, nil, nil
	l.n--
	if l.feed != nil {
		l.feed.removed()
	}
}

// replace puts op in the place of old.
func (l *opList) replace(old, op *Op) {
	op.list, op.prev, op.next = l, old.prev, old.next
	if op.prev == nil {
		l.head = op
	} else {
		op.prev.next = op
	}
	if op.next == nil {
		l.tail = op
	} else {
		op.next.prev = op
	}
	old.list, old.prev, old.next = nil, nil, nil
}

// feed holds the ops of one table that are ready for one lane. While it is not
// empty, it is in a ring of the lane.
type feed struct {
	opList
	table      *Table
	lane       *lane
	ring       *ring
	prev, next *feed
	taken      int  // keys that the running Take has taken
	flights    int  // in the air that have taken from it
	held       bool // these are as many as one table may have
}

func (f *feed) init(t *Table, l *lane) {
	f.opList.feed = f
	f.table, f.lane = t, l
}

func (f *feed) added() {
	if !f.held {
		f.lane.ready++
	}
	if f.n == 1 {
		f.join()
	}
}

func (f *feed) removed() {
	if !f.held {
		f.lane.ready--
	}
	if f.n == 0 {
		f.ring.remove(f)
	}
}

// join puts a feed that is not empty at the end of its ring.
func (f *feed) join() {
	if f.held {
		f.lane.held.push(f)
	} else {
		f.lane.ring.push(f)
	}
}

// takenOff and landed count a flight that has taken from f.
func (f *feed) takenOff() {
	if f.flights++; f.flights == f.lane.perTable {
		f.lane.ready -= f.n
		f.hold(true)
	}
}

func (f *feed) landed() {
	if f.flights--; f.held {
		f.lane.ready += f.n
		f.hold(false)
	}
}

func (f *feed) hold(held bool) {
	if f.n > 0 {
		f.ring.remove(f)
	}
	f.held = held
	if f.n > 0 {
		f.join()
	}
}

// ring is a list of feeds that take turns: the first is next.
type ring struct {
	head, tail *feed
	n          int
}

func (r *ring) push(f *feed) {
	f.ring, f.prev, f.next = r, r.tail, nil
	if r.tail == nil {
		r.head = f
	} else {
		r.tail.next = f
	}
	r.tail = f
	r.n++
}

func (r *ring) remove(f *feed) {
	if f.prev == nil {
		r.head = f.next
	} else {
		f.prev.next = f.next
	}
	if f.next == nil {
		r.tail = f.prev
	} else {
		f.next.prev = f.prev
	}
	f.ring, f.prev, f.next = nil, nil, nil
	r.n--
}

// rotate ends the turn of the first feed.
func (r *ring) rotate() {
	if f := r.head; f != r.tail {
		r.remove(f)
		r.push(f)
	}
}
