package values

import "slices"

// List is a sequence of elements that grows at both ends.
type List struct {
	room []string // the elements are room[head:]
	head int
}

// Kind returns [KindList].
func (*List) Kind() Kind { return KindList }

// Len returns the number of elements. A nil list has none.
func (l *List) Len() int {
	if l == nil {
		return 0
	}
	return len(l.room) - l.head
}

// elements returns the elements for reading or changing. It is valid until the
// next push or pop.
func (l *List) elements() []string {
	if l == nil {
		return nil
	}
	return l.room[l.head:]
}

func (l *List) push(element string, left bool) {
	if !left {
		l.room = append(l.room, element)
		return
	}
	if l.head == 0 {
		free := 4 + l.Len()/2
		room := make([]string, free+l.Len(), free+l.Len()+4)
		copy(room[free:], l.room)
		l.room, l.head = room, free
	}
	l.head--
	l.room[l.head] = element
}

// pop takes an element out of a list that is not empty.
func (l *List) pop(left bool) string {
	at := l.head
	if left {
		l.head++
	} else {
		at = len(l.room) - 1
	}
	element := l.room[at]
	l.room[at] = ""
	if !left {
		l.room = l.room[:at]
	}
	return element
}

// replace gives the list other elements, which it takes over.
func (l *List) replace(elements []string) { l.room, l.head = elements, 0 }

// list returns the entry and the list of a key, nil if there is none.
func (c *Call) list(key []byte) (*Entry, *List, error) { return lookup[*List](c, key) }

// Push adds an element at the end, or with left at the beginning.
func (l *List) Push(element string, left bool) { l.push(element, left) }

// Pop removes the last element of a list that is not empty, or with left the first,
// and returns it.
func (l *List) Pop(left bool) string { return l.pop(left) }

// Range returns the elements from one position to another, both included. Negative
// positions count from the end: -1 is the last element. The result is valid until
// the list changes. A nil list has none.
func (l *List) Range(first, last int64) []string {
	i, j := clamp(first, last, l.Len())
	return l.elements()[i:j]
}

// Trim keeps what Range returns, and reports whether it removed an element.
func (l *List) Trim(first, last int64) bool {
	i, j := clamp(first, last, l.Len())
	if j-i == l.Len() {
		return false
	}
	l.replace(slices.Clone(l.elements()[i:j]))
	return true
}
