package bus

import (
	"fmt"
	"strconv"
	"strings"
)

// cursor is how far messages have been read: all that a snapshot shows. If there were
// too many for one answer, they are read up to another snapshot, in the order of their
// transactions, and last is the last one so far.
type cursor struct {
	xmax uint64   // of the snapshot. 0: nothing has been asked yet
	xip  []string // transactions below xmax that were unfinished

	upTo string // a pg_snapshot as text; "": the next answer brings it
	last position

	epoch string // the incarnation of the UNLOGGED tables
}

// position is that of a row in the order in which rows are read.
type position struct {
	xid uint64
	id  int64
}

// next is the cursor after everything was read that its snapshot upTo shows.
func (c cursor) next() (cursor, error) {
	n := cursor{epoch: c.epoch}
	parts := strings.Split(c.upTo, ":") // xmin:xmax:xip,xip
	if len(parts) == 3 {
		n.xmax, _ = strconv.ParseUint(parts[1], 10, 64)
	}
	if n.xmax == 0 {
		return c, fmt.Errorf("bus: %.100q is not a pg_snapshot", c.upTo)
	}
	if parts[2] != "" {
		n.xip = strings.Split(parts[2], ",")
	}
	return n, nil
}
