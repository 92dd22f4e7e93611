package values

import "iter"

// dictionary maps strings to values and keeps the order of insertion. It is
// searched from end to end; a large one gets an index once several searches have
// shown that it pays.
type dictionary[V any] struct {
	slots    []slot[V]
	index    map[string]int32 // nil: not made yet
	live     int              // slots that are not removed
	searches int              // without an index
}

type slot[V any] struct {
	key     string
	value   V
	removed bool
}

// An index is made for more than unindexed slots, after unindexedSearches. To make
// one costs about as much as this many searches.
const (
	unindexed         = 16
	unindexedSearches = 8
)

// find returns the value of a key for reading or changing, nil if there is none.
// It is valid until the next insertion or removal.
func (d *dictionary[V]) find(key string) *V {
	if i := d.position(key); i >= 0 {
		return &d.slots[i].value
	}
	return nil
}

func (d *dictionary[V]) position(key string) int {
	if d.index == nil && len(d.slots) > unindexed {
		if d.searches++; d.searches > unindexedSearches {
			d.makeIndex()
		}
	}
	if d.index != nil {
		if i, ok := d.index[key]; ok {
			return int(i)
		}
		return -1
	}
	for i := range d.slots {
		if s := &d.slots[i]; !s.removed && s.key == key {
			return i
		}
	}
	return -1
}

func (d *dictionary[V]) makeIndex() {
	d.index = make(map[string]int32, len(d.slots))
	for i := range d.slots {
		if s := &d.slots[i]; !s.removed {
			d.index[s.key] = int32(i)
		}
	}
}

// insert adds a key that is not in the dictionary.
func (d *dictionary[V]) insert(key string, value V) {
	if d.index != nil {
		d.index[key] = int32(len(d.slots))
	}
	d.slots = append(d.slots, slot[V]{key: key, value: value})
	d.live++
}

// remove reports whether the key was there.
func (d *dictionary[V]) remove(key string) bool {
	i := d.position(key)
	if i < 0 {
		return false
	}
	d.removeAt(i)
	return true
}

func (d *dictionary[V]) removeAt(i int) {
	if d.index != nil {
		delete(d.index, d.slots[i].key)
	}
	d.slots[i] = slot[V]{removed: true}
	d.live--
	if len(d.slots) > 2*d.live+unindexed {
		d.compact()
	}
}

// compact closes the gaps that removals have left.
func (d *dictionary[V]) compact() {
	if d.live == len(d.slots) {
		return
	}
	kept := d.slots[:0]
	for _, s := range d.slots {
		if !s.removed {
			kept = append(kept, s)
		}
	}
	clear(d.slots[len(kept):])
	d.slots, d.index = kept, nil
}

// all ranges over the keys in order. The dictionary must not change meanwhile.
func (d *dictionary[V]) all() iter.Seq2[string, *V] {
	return func(yield func(string, *V) bool) {
		for i := range d.slots {
			if s := &d.slots[i]; !s.removed && !yield(s.key, &s.value) {
				return
			}
		}
	}
}

// keys returns all keys in order.
func (d *dictionary[V]) keys() []string {
	list := make([]string, 0, d.live)
	for key := range d.all() {
		list = append(list, key)
	}
	return list
}
