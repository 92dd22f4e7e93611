package values

// positionOptions are the options of LPOS.
type positionOptions struct {
	rank    int64 // of the first match to report
	reverse bool  // from the end
	count   int64 // 0: all; -1: not given
	compare int64 // how many elements are compared, 0: all
}

func parsePositionOptions(args [][]byte) (o positionOptions, err error) {
	o = positionOptions{rank: 1, count: -1}
	for i := 0; i < len(args); i += 2 {
		if i+1 == len(args) {
			return o, ErrSyntax
		}
		switch value := args[i+1]; {
		case is(args[i], "RANK"):
			if o.rank, err = integer(value); err == nil && o.rank == 0 {
				err = Error("ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... or use negative to start from the end of the list")
			}
		case is(args[i], "COUNT"):
			o.count, err = natural(value, "ERR COUNT can't be negative")
		case is(args[i], "MAXLEN"):
			o.compare, err = natural(value, "ERR MAXLEN can't be negative")
		default:
			err = ErrSyntax
		}
		if err != nil {
			return o, err
		}
	}
	if o.rank < 0 {
		o.rank, o.reverse = -o.rank, true
	}
	return o, nil
}

func lpos(c *Call) error {
	o, err := parsePositionOptions(c.Args[3:])
	if err != nil {
		return err
	}
	_, l, err := c.list(c.Args[1])
	if err != nil {
		return err
	}
	found := l.positions(string(c.Args[2]), o)
	switch {
	case o.count >= 0:
		c.Reply.Array(len(found))
		for _, at := range found {
			c.Reply.Int(int64(at))
		}
	case len(found) == 0:
		c.Reply.Null()
	default:
		c.Reply.Int(int64(found[0]))
	}
	return nil
}

// positions returns where an element stands, in the order of the search.
func (l *List) positions(element string, o positionOptions) (found []int) {
	elements, want, matches := l.elements(), o.count, int64(0)
	for i := range elements {
		if o.compare != 0 && int64(i) == o.compare {
			break
		}
		at := i
		if o.reverse {
			at = len(elements) - 1 - i
		}
		if elements[at] != element {
			continue
		}
		if matches++; matches < o.rank {
			continue
		}
		found = append(found, at)
		if want != 0 && matches-o.rank+1 >= want { // wraps around for the least rank, as in Redis
			break
		}
	}
	return found
}
