package values

import (
	"encoding/binary"
	"errors"
	"math"
)

// The formats of packed values: the first byte.
const (
	formatPlain  = 1 // elements one after the other
	formatExpiry = 2 // of a hash: with the expiry of each field
)

// ErrCorrupt is returned by [Decode] for bytes that [Encode] cannot have made.
var ErrCorrupt = errors.New("the packed value is corrupt")

// Encode appends the packed form of a value. It begins with the number of its
// format; lengths are unsigned varints:
//
//	hash        1, then for each field: length, field, length, value
//	hash        2, then the same, each with 8 bytes big-endian: the expiry in ms
//	list, set   1, then for each element: length, element
//	sorted set  1, then by score and member: 8 bytes of float64, length, member
//
// A string is its own bytes.
func Encode(dst []byte, v Value) []byte { return v.appendPacked(dst) }

// Decode reads what [Encode] wrote. What it allocates is in proportion to the
// bytes; a [String] takes them over.
func Decode(kind Kind, packed []byte) (Value, error) {
	if kind == KindString {
		return String(packed), nil
	}
	if len(packed) == 0 {
		return nil, ErrCorrupt
	}
	r := &unpacker{rest: string(packed[1:]), ok: true}
	var v Value
	switch format := packed[0]; {
	case kind == KindHash && (format == formatPlain || format == formatExpiry):
		v = r.hash(format == formatExpiry)
	case kind == KindList && format == formatPlain:
		v = r.list()
	case kind == KindSet && format == formatPlain:
		v = r.set()
	case kind == KindSortedSet && format == formatPlain:
		v = r.sortedSet()
	default:
		return nil, ErrCorrupt
	}
	if !r.ok || v.Len() == 0 {
		return nil, ErrCorrupt
	}
	return v, nil
}

// unpacker reads from the front of rest until ok is false. The strings that it
// returns share memory with it.
type unpacker struct {
	rest string
	ok   bool
}

func (r *unpacker) more() bool { return r.ok && len(r.rest) > 0 }

func (r *unpacker) bytes(n uint64) string {
	if !r.ok || n > uint64(len(r.rest)) {
		r.ok = false
		return ""
	}
	s := r.rest[:n]
	r.rest = r.rest[n:]
	return s
}

func (r *unpacker) text() string { return r.bytes(r.uvarint()) }

func (r *unpacker) uvarint() (n uint64) {
	for shift := uint(0); shift < 64; shift += 7 {
		if len(r.rest) == 0 {
			break
		}
		b := r.rest[0]
		r.rest = r.rest[1:]
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return n
		}
	}
	r.ok = false
	return 0
}

func (r *unpacker) uint64() (n uint64) {
	for i := range 8 {
		if len(r.rest) <= i {
			r.ok = false
			return 0
		}
		n = n<<8 | uint64(r.rest[i])
	}
	r.rest = r.rest[8:]
	return n
}

// count returns how many elements skip can pass over, without keeping them.
func (r *unpacker) count(skip func(*unpacker)) (n int) {
	probe := *r
	for probe.more() {
		skip(&probe)
		n++
	}
	return n
}

func (r *unpacker) hash(expiry bool) *Hash {
	n := r.count(func(r *unpacker) {
		r.text()
		r.text()
		if expiry {
			r.uint64()
		}
	})
	h := &Hash{}
	h.fields.slots = make([]slot[hashField], 0, n)
	for r.more() {
		field, f := r.text(), hashField{value: r.text()}
		if expiry {
			at := int64(r.uint64())
			r.ok = r.ok && at >= 0
			h.setExpiry(&f, at)
		}
		h.fields.insert(field, f)
	}
	return h
}

func (h *Hash) appendPacked(dst []byte) []byte {
	format := byte(formatPlain)
	for _, f := range h.fields.all() {
		if f.expiresAt != 0 {
			format = formatExpiry
			break
		}
	}
	dst = append(dst, format)
	for field, f := range h.fields.all() {
		dst = appendText(appendText(dst, field), f.value)
		if format == formatExpiry {
			dst = binary.BigEndian.AppendUint64(dst, uint64(f.expiresAt))
		}
	}
	return dst
}

func (r *unpacker) set() *Set {
	s := &Set{}
	s.members.slots = make([]slot[struct{}], 0, r.count(func(r *unpacker) { r.text() }))
	for r.more() {
		s.members.insert(r.text(), struct{}{})
	}
	return s
}

func (s *Set) appendPacked(dst []byte) []byte {
	dst = append(dst, formatPlain)
	for member := range s.members.all() {
		dst = appendText(dst, member)
	}
	return dst
}

func (r *unpacker) list() *List {
	l := &List{room: make([]string, 0, r.count(func(r *unpacker) { r.text() }))}
	for r.more() {
		l.room = append(l.room, r.text())
	}
	return l
}

func (l *List) appendPacked(dst []byte) []byte {
	dst = append(dst, formatPlain)
	for _, element := range l.elements() {
		dst = appendText(dst, element)
	}
	return dst
}

func (r *unpacker) sortedSet() *SortedSet {
	n := r.count(func(r *unpacker) {
		r.uint64()
		r.text()
	})
	z := &SortedSet{members: make([]Member, 0, n)}
	for r.more() {
		m := Member{Score: math.Float64frombits(r.uint64()), Name: r.text()}
		r.ok = r.ok && !math.IsNaN(m.Score) && (len(z.members) == 0 || z.members[len(z.members)-1].compare(m) < 0)
		z.members = append(z.members, m)
	}
	return z
}

func (z *SortedSet) appendPacked(dst []byte) []byte {
	dst = append(dst, formatPlain)
	for _, m := range z.members {
		dst = binary.BigEndian.AppendUint64(dst, math.Float64bits(m.Score))
		dst = appendText(dst, m.Name)
	}
	return dst
}

func appendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}
