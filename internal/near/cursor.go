package near

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// snapshot is a pg_snapshot: which transactions are finished, whether they were
// committed or rolled back.
type snapshot struct {
	xmax uint64   // every transaction from here on is unfinished
	xip  []uint64 // unfinished below xmax, ascending; top-level transactions only
}

// parseSnapshot reads the text form of a pg_snapshot, "xmin:xmax:xip,xip".
func parseSnapshot(text string) (snapshot, error) {
	parts := strings.Split(text, ":")
	bad := func() (snapshot, error) {
		return snapshot{}, fmt.Errorf("near: %.100q is not a pg_snapshot; a poll answers pg_current_snapshot()", text)
	}
	if len(parts) != 3 {
		return bad()
	}
	xmin, err1 := strconv.ParseUint(parts[0], 10, 64)
	xmax, err2 := strconv.ParseUint(parts[1], 10, 64)
	if err1 != nil || err2 != nil || xmin == 0 || xmin > xmax {
		return bad()
	}
	s := snapshot{xmax: xmax}
	if parts[2] == "" {
		return s, nil
	}
	for word := range strings.SplitSeq(parts[2], ",") {
		xid, err := strconv.ParseUint(word, 10, 64)
		if err != nil || xid < xmin || xid >= xmax || len(s.xip) > 0 && xid <= s.xip[len(s.xip)-1] {
			return bad()
		}
		s.xip = append(s.xip, xid)
	}
	return s, nil
}

// finished tells whether the snapshot sees the end of a transaction.
func (s snapshot) finished(xid uint64) bool {
	if xid >= s.xmax {
		return false
	}
	_, running := slices.BinarySearch(s.xip, xid)
	return !running
}

// allFinished tells whether it sees the end of every transaction up to xid.
func (s snapshot) allFinished(xid uint64) bool {
	return xid < s.xmax && (len(s.xip) == 0 || xid < s.xip[0])
}

func (s snapshot) cursor() Cursor { return Cursor{Xmax: s.xmax, Xip: s.xip} }
