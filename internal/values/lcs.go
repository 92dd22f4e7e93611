package values

// maxLCS bounds the table of LCS, in cells of 4 bytes.
const maxLCS = 64 << 20 / 4

// lcsOptions are the options of LCS.
type lcsOptions struct {
	length   bool  // LEN: only the length
	ranges   bool  // IDX: where the matches are
	shortest int64 // MINMATCHLEN
	lengths  bool  // WITHMATCHLEN
}

func parseLCS(args [][]byte) (o lcsOptions, err error) {
	for i := 0; i < len(args); i++ {
		switch {
		case is(args[i], "IDX"):
			o.ranges = true
		case is(args[i], "LEN"):
			o.length = true
		case is(args[i], "WITHMATCHLEN"):
			o.lengths = true
		case is(args[i], "MINMATCHLEN") && i+1 < len(args):
			i++
			if o.shortest, err = integer(args[i]); err != nil {
				return o, err
			}
		default:
			return o, ErrSyntax
		}
	}
	if o.length && o.ranges {
		return o, Error("ERR If you want both the length and indexes, please just use IDX.")
	}
	return o, nil
}

// match is a stretch of the longest common subsequence that is in one piece in
// both strings: from a in the first, from b in the second.
type match struct {
	a, b, length int
}

func lcs(c *Call) error {
	_, a, err := c.str(c.Args[1])
	_, b, errB := c.str(c.Args[2])
	if err != nil || errB != nil {
		return Error("ERR The specified keys must contain string values")
	}
	o, err := parseLCS(c.Args[3:])
	if err != nil {
		return err
	}
	if (int64(len(a))+1)*(int64(len(b))+1) > maxLCS {
		return Error("ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len")
	}
	table := newLCSTable(a, b)
	total := table.at(len(a), len(b))
	switch {
	case o.length:
		c.Reply.Int(int64(total))
	case o.ranges:
		c.matches(table.matches(), o, total)
	default:
		c.Reply.Bulk(table.common(total))
	}
	return nil
}

func (c *Call) matches(found []match, o lcsOptions, total uint32) {
	long := found[:0]
	for _, m := range found {
		if o.shortest <= 0 || int64(m.length) >= o.shortest {
			long = append(long, m)
		}
	}
	c.Reply.Map(2)
	c.Reply.Bulk("matches")
	c.Reply.Array(len(long))
	for _, m := range long {
		if o.lengths {
			c.Reply.Array(3)
		} else {
			c.Reply.Array(2)
		}
		for _, first := range []int{m.a, m.b} {
			c.Reply.Array(2)
			c.Reply.Int(int64(first))
			c.Reply.Int(int64(first + m.length - 1))
		}
		if o.lengths {
			c.Reply.Int(int64(m.length))
		}
	}
	c.Reply.Bulk("len")
	c.Reply.Int(int64(total))
}

// lcsTable has the length of the longest common subsequence for each pair of
// beginnings of two strings.
type lcsTable struct {
	a, b  String
	cells []uint32
}

func newLCSTable(a, b String) lcsTable {
	t := lcsTable{a, b, make([]uint32, (len(a)+1)*(len(b)+1))}
	width := len(b) + 1
	for i := range a {
		above, row := t.cells[i*width:], t.cells[(i+1)*width:]
		for j := range b {
			if a[i] == b[j] {
				row[j+1] = above[j] + 1
			} else {
				row[j+1] = max(above[j+1], row[j])
			}
		}
	}
	return t
}

func (t lcsTable) at(i, j int) uint32 { return t.cells[i*(len(t.b)+1)+j] }

// walk visits the pairs of equal bytes from the end.
func (t lcsTable) walk(visit func(i, j int)) {
	for i, j := len(t.a), len(t.b); i > 0 && j > 0; {
		switch {
		case t.a[i-1] == t.b[j-1]:
			i--
			j--
			visit(i, j)
		case t.at(i-1, j) > t.at(i, j-1):
			i--
		default:
			j--
		}
	}
}

func (t lcsTable) common(total uint32) string {
	text := make([]byte, total)
	t.walk(func(i, _ int) {
		total--
		text[total] = t.a[i]
	})
	return string(text)
}

// matches returns the stretches, the last first.
func (t lcsTable) matches() (found []match) {
	t.walk(func(i, j int) {
		if n := len(found); n > 0 && found[n-1].a == i+1 && found[n-1].b == j+1 {
			found[n-1] = match{i, j, found[n-1].length + 1}
			return
		}
		found = append(found, match{i, j, 1})
	})
	return found
}
