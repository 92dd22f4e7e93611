package pipeline

import "unsafe"

// Values counts the memory of values, each once however often it is held:
// callers that were merged into one read share its value. The zero value holds
// nothing. A value is known by its first byte, so parts of one value that begin
// at different places count as different ones.
type Values struct {
	uses  map[*byte]int // of large values
	bytes int
	due   int // bytes that are held, each as often as it is: what is to be sent
	total int // bytes of all values ever held, each as often as it was
}

// Bytes returns the memory of the values that are held.
func (v *Values) Bytes() int { return v.bytes }

// HoldSize counts n bytes of memory beside the values, until DropSize.
func (v *Values) HoldSize(n int) { v.bytes, v.due, v.total = v.bytes+n, v.due+n, v.total+n }

// DropSize takes back a HoldSize of the same size.
func (v *Values) DropSize(n int) { v.bytes, v.due = v.bytes-n, v.due-n }

// Hold counts a use of value.
func (v *Values) Hold(value []byte) {
	v.due += len(value)
	v.total += len(value)
	if len(value) < Large {
		v.bytes += len(value)
		return
	}
	first := unsafe.SliceData(value)
	if v.uses == nil {
		v.uses = make(map[*byte]int)
	}
	if v.uses[first]++; v.uses[first] == 1 {
		v.bytes += cap(value)
	}
}

// Drop takes back a Hold of the same value.
func (v *Values) Drop(value []byte) {
	v.due -= len(value)
	if len(value) < Large {
		v.bytes -= len(value)
		return
	}
	first := unsafe.SliceData(value)
	if v.uses[first]--; v.uses[first] == 0 {
		delete(v.uses, first)
		v.bytes -= cap(value)
	}
}

// cleared is an empty v that keeps its map if that is small.
func (v *Values) cleared() Values {
	if len(v.uses) > 64 {
		return Values{}
	}
	clear(v.uses)
	return Values{uses: v.uses}
}
