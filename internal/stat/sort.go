package stat

import (
	"cmp"
	"slices"
)

// sorts are the orders of Report.Sort by their names. Each returns what a row has of it,
// nil if that is not known; the largest comes first.
var sorts = []struct {
	name  string
	value func(*Row) *float64
}{
	{"reads", func(r *Row) *float64 { return r.Reads }},
	{"writes", func(r *Row) *float64 { return r.Writes }},
	{"deletes", func(r *Row) *float64 { return r.Deletes }},
	{"hit", func(r *Row) *float64 {
		if r.Hit == nil {
			return nil
		}
		missed := 1 - *r.Hit
		return &missed
	}},
	{"entries", func(r *Row) *float64 { return number(r.Entries) }},
	{"bytes", func(r *Row) *float64 { return number(r.Size()) }},
	{"dead", func(r *Row) *float64 { return number(r.Dead) }},
	{"used", func(r *Row) *float64 { return r.Used }},
	{"name", func(*Row) *float64 { return nil }},
}

// Sorts returns the names of the orders that Report.Sort knows.
func Sorts() []string {
	var names []string
	for _, s := range sorts {
		names = append(names, s.name)
	}
	return names
}

// Sort puts the rows into an order: the largest of a figure first ("hit": the lowest hit
// ratio), rows of which it is not known last, equal ones by name. Without an order of that
// name, and by "name", they are as Compare leaves them.
func (r *Report) Sort(by string) {
	value := func(*Row) *float64 { return nil }
	for _, s := range sorts {
		if s.name == by {
			value = s.value
		}
	}
	slices.SortFunc(r.Tables, func(a, b Row) int {
		sessions := 0
		if a.Sessions != b.Sessions {
			sessions = 1
			if b.Sessions {
				sessions = -1
			}
		}
		return cmp.Or(descending(value(&a), value(&b)), sessions, cmp.Compare(a.Name, b.Name))
	})
}

// descending compares so that the largest is first and what is not known last.
func descending(a, b *float64) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return 1
	case b == nil:
		return -1
	}
	return cmp.Compare(*b, *a)
}

func number(n int64) *float64 {
	f := float64(n)
	return &f
}
