package values

import (
	"cmp"
	"slices"
	"strings"
)

func sortCommands() []Command {
	return []Command{
		{Name: "sort", Arity: -2, Flags: "write denyoom movablekeys", Since: "1.0.0", MoreKeys: sortTarget, Open: sortIsOpen,
			Run: func(c *Call) error { return c.sort(false) }},
		{Name: "sort_ro", Arity: -2, Flags: "readonly movablekeys", Since: "7.0.0", Open: sortIsOpen,
			Run: func(c *Call) error { return c.sort(true) }},
	}
}

// sortOptions are the options of SORT.
type sortOptions struct {
	by       []byte // nil: by the element
	unsorted bool   // BY a pattern without "*"
	get      [][]byte
	store    []byte // nil: the reply has the elements
	offset   int64
	count    int64 // negative: all
	reverse  bool
	alpha    bool
}

func parseSort(args [][]byte, readOnly bool) (o sortOptions, err error) {
	o.count = -1
	for i := 0; i < len(args); i++ {
		switch left := len(args) - i - 1; {
		case is(args[i], "ASC"):
			o.reverse = false
		case is(args[i], "DESC"):
			o.reverse = true
		case is(args[i], "ALPHA"):
			o.alpha = true
		case is(args[i], "LIMIT") && left >= 2:
			if o.offset, err = integer(args[i+1]); err != nil {
				return o, err
			}
			if o.count, err = integer(args[i+2]); err != nil {
				return o, err
			}
			i += 2
		case is(args[i], "STORE") && left >= 1 && !readOnly:
			i++
			o.store = args[i]
		case is(args[i], "BY") && left >= 1:
			i++
			o.by, o.unsorted = args[i], !strings.Contains(cString(args[i]), "*")
		case is(args[i], "GET") && left >= 1:
			i++
			o.get = append(o.get, args[i])
		default:
			return o, ErrSyntax
		}
	}
	return o, nil
}

// sortTarget returns the key behind STORE.
func sortTarget(args [][]byte) [][]byte {
	if o, err := parseSort(args[2:], false); err == nil && o.store != nil {
		return [][]byte{o.store}
	}
	return nil
}

// sortIsOpen reports whether a pattern of SORT names keys.
func sortIsOpen(args [][]byte) bool {
	o, err := parseSort(args[2:], false)
	return err == nil && (len(o.get) > 0 || o.by != nil && !o.unsorted)
}

// sortItem is an element with what it is sorted by.
type sortItem struct {
	element string
	score   float64
	text    string
	absent  bool // there is no text
}

func (c *Call) sort(readOnly bool) error {
	o, err := parseSort(c.Args[2:], readOnly)
	if err != nil {
		return err
	}
	e := c.entry(c.Args[1])
	if !readOnly {
		c.miss(e, c.Args[1])
	}
	if _, isSet := e.Value.(*Set); isSet && o.unsorted && (o.store != nil || c.Script) {
		o.by, o.unsorted, o.alpha = nil, false, true // a set has no order that could be stored, or that scripts could rely on
	}
	elements, err := sortElements(e.Value, &o)
	if err != nil {
		return err
	}
	if !o.unsorted {
		if elements, err = c.sorted(elements, &o); err != nil {
			return err
		}
	}
	from, to := o.window(len(elements))
	elements = elements[from:to]
	if o.store == nil {
		c.sortReply(elements, &o)
		return nil
	}
	c.sortStore(elements, &o)
	return nil
}

// sortElements returns the elements of a value: in their order, or from the last
// one, if they are not to be sorted.
func sortElements(v Value, o *sortOptions) (elements []string, err error) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case *List:
		elements = slices.Clone(v.elements())
	case *Set:
		return v.list(), nil
	case *SortedSet:
		for _, m := range v.list() {
			elements = append(elements, m.Name)
		}
	default:
		return nil, ErrWrongType
	}
	if o.unsorted && o.reverse {
		slices.Reverse(elements)
	}
	return elements, nil
}

// sorted returns the elements in the order of the options.
func (c *Call) sorted(elements []string, o *sortOptions) ([]string, error) {
	items := make([]sortItem, len(elements))
	failed := false
	for i, element := range elements {
		item := sortItem{element: element, text: element}
		if o.by != nil {
			text, found := c.pattern(o.by, element)
			item.text, item.absent = text, !found
		}
		if !o.alpha && !item.absent {
			score, ok := sortScore(item.text)
			item.score = score
			failed = failed || !ok
		}
		items[i] = item
	}
	if failed {
		return nil, Error("ERR One or more scores can't be converted into double")
	}
	slices.SortStableFunc(items, func(a, b sortItem) int {
		order := a.compare(&b, o)
		if o.reverse {
			return -order
		}
		return order
	})
	for i := range items {
		elements[i] = items[i].element
	}
	return elements, nil
}

// sortScore parses what a number is sorted by: no text at all is zero.
func sortScore(text string) (float64, bool) {
	text = strings.TrimLeft(cString(text), " \t\n\v\f\r")
	if text == "" {
		return 0, true
	}
	return parseFloat(text)
}

// compare orders two items. Equal scores are ordered by the elements.
func (a *sortItem) compare(b *sortItem, o *sortOptions) int {
	switch {
	case !o.alpha:
		if order := cmp.Compare(a.score, b.score); order != 0 {
			return order
		}
		return strings.Compare(a.element, b.element)
	case a.absent || b.absent:
		if a.absent == b.absent {
			return 0
		}
		if a.absent {
			return -1
		}
		return 1
	}
	return strings.Compare(a.text, b.text)
}

// window returns which of n elements LIMIT leaves.
func (o *sortOptions) window(n int) (from, to int) {
	from = int(min(max(o.offset, 0), int64(n)))
	if o.count < 0 {
		return from, n
	}
	return from, from + int(min(o.count, int64(n-from)))
}

// pattern returns the string that a pattern of BY or GET names for an element:
// the element takes the place of "*", and a field of a hash stands behind "->".
func (c *Call) pattern(pattern []byte, element string) (text string, found bool) {
	p := cString(pattern)
	if p == "#" {
		return element, true
	}
	before, after, ok := strings.Cut(p, "*")
	if !ok {
		return "", false
	}
	field, isField := "", false
	if name, f, cut := strings.Cut(after, "->"); cut && f != "" {
		after, field, isField = name, f, true
	}
	key := []byte(before + element + after)
	e := c.entry(key)
	if !c.ReadOnly {
		c.miss(e, key)
	}
	switch v := e.Value.(type) {
	case *Hash:
		if f := v.find(field); isField && f != nil {
			return f.value, true
		}
	case String:
		if !isField {
			return string(v), true
		}
	}
	return "", false
}

// row calls visit with what GET asks for of an element: the element itself if it
// asks for nothing.
func (c *Call) row(element string, o *sortOptions, visit func(text string, found bool)) {
	if len(o.get) == 0 {
		visit(element, true)
	}
	for _, pattern := range o.get {
		visit(c.pattern(pattern, element))
	}
}

func (c *Call) sortReply(elements []string, o *sortOptions) {
	c.Reply.Array(len(elements) * max(len(o.get), 1))
	for _, element := range elements {
		c.row(element, o, func(text string, found bool) {
			if found {
				c.Reply.Bulk(text)
			} else {
				c.Reply.Null()
			}
		})
	}
}

// sortStore stores a list of the elements, with empty ones for what is missing.
func (c *Call) sortStore(elements []string, o *sortOptions) {
	target := &List{}
	for _, element := range elements {
		c.row(element, o, func(text string, _ bool) { target.push(text, false) })
	}
	c.storeResult(o.store, target, ListEvent, "sortstore")
	c.Reply.Int(int64(target.Len()))
}
