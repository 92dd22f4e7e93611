package values

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// A scan passes the members in the order of a hash of theirs. The cursor is the
// hash at which the next page begins, so that a scan needs no state, and gives
// every member that is there all the time.

// scanWhole is the largest number of members that a scan gives at once, whatever
// the count; so does Redis with small collections.
const scanWhole = 128

// scanBits is the size of the cursor, so that clients with numbers of 53 bits
// can hold it.
const scanBits = 48

// maxPattern bounds the length of a pattern, because the time of a page is in
// proportion to it.
const maxPattern = 1 << 10

type scan struct {
	match    []byte // nil: everything matches
	count    int
	noValues bool
}

// scanCursor reads a cursor as Redis does, with C's strtoul.
func scanCursor(arg []byte) (uint64, error) {
	s := cString(arg)
	if s != "" && isSpace(s[0]) {
		return 0, errCursor
	}
	digits := strings.TrimPrefix(s, "+")
	negative := false
	if len(digits) == len(s) {
		digits, negative = strings.CutPrefix(s, "-")
	}
	if s == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil {
		return 0, errCursor
	}
	if negative {
		n = -n
	}
	return n, nil
}

func scanOptions(args [][]byte, hash bool) (scan, error) {
	s := scan{count: 10}
	for i := 0; i < len(args); i++ {
		switch left := len(args) - i; {
		case is(args[i], "COUNT") && left >= 2:
			n, err := integer(args[i+1])
			if err != nil {
				return s, err
			}
			if n < 1 {
				return s, ErrSyntax
			}
			s.count = int(min(n, math.MaxInt32))
			i++
		case is(args[i], "MATCH") && left >= 2:
			i++
			if len(args[i]) > maxPattern {
				return s, Error("ERR pattern is longer than 1024 bytes; use a shorter one")
			}
			if string(args[i]) != "*" { // matches everything, the empty text too
				s.match = args[i]
			}
		case hash && is(args[i], "NOVALUES"):
			s.noValues = true
		default:
			return s, ErrSyntax
		}
	}
	return s, nil
}

// page returns the members of a page that match, and the cursor of the next one,
// 0 at the end.
func (s scan) page(names []string, cursor uint64) (page []string, next uint64) {
	if len(names) > scanWhole {
		names, next = s.cut(names, cursor)
	}
	if s.match == nil {
		return names, next
	}
	page = names[:0]
	for _, name := range names {
		if Match(s.match, []byte(name)) {
			page = append(page, name)
		}
	}
	return page, next
}

func (s scan) cut(names []string, cursor uint64) ([]string, uint64) {
	type place struct {
		at   uint64
		name string
	}
	var places []place
	for _, name := range names {
		if at := xxh3([]byte(name)) >> (64 - scanBits); at >= cursor {
			places = append(places, place{at, name})
		}
	}
	slices.SortFunc(places, func(a, b place) int {
		if a.at != b.at {
			if a.at < b.at {
				return -1
			}
			return 1
		}
		return strings.Compare(a.name, b.name)
	})
	n := min(s.count, len(places))
	for n > 0 && n < len(places) && places[n].at == places[n-1].at {
		n++
	}
	names = make([]string, n)
	for i := range names {
		names[i] = places[i].name
	}
	if n == len(places) {
		return names, 0
	}
	return names, places[n].at
}

func (c *Call) emptyScan() {
	c.Reply.Array(2)
	c.Reply.Bulk("0")
	c.Reply.Array(0)
}

func formatInt(n int64) string   { return strconv.FormatInt(n, 10) }
func formatUint(n uint64) string { return strconv.FormatUint(n, 10) }
