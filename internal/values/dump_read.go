package values

import (
	"encoding/binary"
	"math"
)

// The types that are read besides those that are written: what Redis makes, and
// what it made before version 7.
const (
	rdbSortedSetText     = 3 // with scores as text
	rdbListZiplist       = 10
	rdbSetIntset         = 11
	rdbSortedSetZiplist  = 12
	rdbHashZiplist       = 13
	rdbQuicklist         = 14 // of ziplists
	rdbHashListpack      = 16
	rdbSortedSetListpack = 17
	rdbQuicklist2        = 18 // of listpacks and single elements
	rdbSetListpack       = 20
	rdbExpiringListpack  = 25
	quicklistPlain       = 1
	quicklistPacked      = 2
	maxLZFExpansion      = 264 // bytes out of one byte, at most
)

// rdbReader reads from the front of rest until ok is false.
type rdbReader struct{ unpacker }

// value reads a value of a type; nil for a type that is not known.
func (r *rdbReader) value(kind byte) Value {
	switch kind {
	case rdbString:
		return String(r.str())
	case rdbList:
		return &List{room: r.strings(1)}
	case rdbSet:
		return r.setOf(r.strings(1))
	case rdbHash:
		return r.hashOf(r.strings(2))
	case rdbSortedSet, rdbSortedSetText:
		return r.scored(kind == rdbSortedSet)
	case rdbExpiringHash:
		return r.expiringHash()
	case rdbListZiplist:
		return &List{room: r.ziplist(r.str())}
	case rdbHashZiplist:
		return r.hashOf(r.ziplist(r.str()))
	case rdbSortedSetZiplist:
		return r.sortedSetOf(r.ziplist(r.str()))
	case rdbSetIntset:
		return r.setOf(r.intset(r.str()))
	case rdbHashListpack:
		return r.hashOf(r.listpack(r.str()))
	case rdbSortedSetListpack:
		return r.sortedSetOf(r.listpack(r.str()))
	case rdbSetListpack:
		return r.setOf(r.listpack(r.str()))
	case rdbExpiringListpack:
		r.bytes(8) // the earliest expiry
		return r.expiringListpack(r.listpack(r.str()))
	case rdbQuicklist, rdbQuicklist2:
		return r.quicklist(kind == rdbQuicklist2)
	}
	return nil
}

// length reads a length, or the kind of an encoded string.
func (r *rdbReader) length() (n uint64, encoded byte) {
	first := r.bytes(1)
	if !r.ok {
		return 0, 0
	}
	switch b := first[0]; {
	case b < rdbLength14:
		return uint64(b), 0
	case b < rdbLength32:
		low := r.bytes(1)
		if !r.ok {
			return 0, 0
		}
		return uint64(b&0x3f)<<8 | uint64(low[0]), 0
	case b == rdbLength32:
		return r.bigEndian32(), 0
	case b == rdbLength64:
		return r.uint64(), 0
	case b >= rdbEncoded && b <= rdbEncodedLZF:
		return 0, b
	}
	r.ok = false
	return 0, 0
}

// size reads a length that counts things of at least one byte each.
func (r *rdbReader) size() int {
	n, encoded := r.length()
	if encoded != 0 || n > uint64(len(r.rest)) {
		r.ok = false
		return 0
	}
	return int(n)
}

// little reads an unsigned integer of size bytes, little-endian.
func (r *rdbReader) little(size uint64) (n uint64) {
	for i, b := range []byte(r.bytes(size)) {
		n |= uint64(b) << (8 * i)
	}
	return n
}

// signed reads an integer of size bytes, little-endian.
func (r *rdbReader) signed(size uint64) int64 {
	shift := 64 - 8*size
	return int64(r.little(size)<<shift) >> shift
}

// str reads a string, which may be an integer or compressed.
func (r *rdbReader) str() string {
	n, encoded := r.length()
	switch encoded {
	case 0:
		return r.bytes(n)
	case rdbEncodedLZF:
		compressed, _ := r.length()
		n, _ = r.length()
		return r.lzf(r.bytes(compressed), n)
	}
	return formatInt(r.signed(1 << (encoded - rdbEncoded)))
}

// lzf expands a string that was compressed by LibLZF.
func (r *rdbReader) lzf(in string, n uint64) string {
	if !r.ok || n > maxLZFExpansion*uint64(len(in)) {
		r.ok = false
		return ""
	}
	out := make([]byte, 0, n)
	from := rdbReader{unpacker{rest: in, ok: true}}
	for from.more() {
		control := from.little(1)
		if control < 32 {
			out = append(out, from.bytes(control+1)...)
			continue
		}
		length := control >> 5
		if length == 7 {
			length += from.little(1)
		}
		distance := (control&0x1f)<<8 + from.little(1) + 1
		if distance > uint64(len(out)) {
			from.ok = false
			break
		}
		for range length + 2 {
			out = append(out, out[uint64(len(out))-distance])
		}
	}
	r.ok = from.ok && uint64(len(out)) == n
	return string(out)
}

// strings reads a count and so many groups of strings.
func (r *rdbReader) strings(group int) []string {
	n := r.size()
	var list []string
	for i := 0; i < n*group && r.ok; i++ {
		list = append(list, r.str())
	}
	return list
}

func (r *rdbReader) setOf(members []string) *Set {
	s := &Set{}
	for _, member := range members {
		r.ok = r.ok && s.add(member)
	}
	return s
}

func (r *rdbReader) hashOf(pairs []string) *Hash {
	h := &Hash{}
	r.ok = r.ok && len(pairs)%2 == 0
	for i := 0; i+1 < len(pairs) && r.ok; i += 2 {
		r.ok = h.set(pairs[i], pairs[i+1])
	}
	return h
}

func (r *rdbReader) addField(h *Hash, name, value string, at int64) {
	r.ok = r.ok && at >= 0 && h.set(name, value)
	if r.ok {
		h.setExpiry(h.find(name), at)
	}
}

func (r *rdbReader) expiringHash() *Hash {
	h, first := &Hash{}, int64(r.little(8))
	for range r.size() {
		after, _ := r.length()
		name, value := r.str(), r.str()
		at := int64(0)
		if after != 0 {
			at = first + int64(after) - 1
		}
		r.addField(h, name, value, at)
	}
	return h
}

func (r *rdbReader) expiringListpack(triples []string) *Hash {
	h := &Hash{}
	r.ok = r.ok && len(triples)%3 == 0
	for i := 0; i+2 < len(triples) && r.ok; i += 3 {
		at, ok := parseInt(triples[i+2])
		r.ok = ok
		r.addField(h, triples[i], triples[i+1], at)
	}
	return h
}

// scored reads a sorted set with scores in binary or as text.
func (r *rdbReader) scored(binaryScores bool) *SortedSet {
	var members []Member
	for range r.size() {
		m := Member{Name: r.str()}
		if binaryScores {
			m.Score = math.Float64frombits(r.little(8))
		} else {
			m.Score = r.textScore()
		}
		members = append(members, m)
		if !r.ok {
			break
		}
	}
	return r.sortedSet(members)
}

func (r *rdbReader) textScore() float64 {
	switch n := r.little(1); n {
	case 253:
		return math.NaN()
	case 254:
		return math.Inf(1)
	case 255:
		return math.Inf(-1)
	default:
		score, ok := parseFloat(r.bytes(n))
		r.ok = r.ok && ok
		return score
	}
}

func (r *rdbReader) sortedSetOf(pairs []string) *SortedSet {
	members := make([]Member, len(pairs)/2)
	r.ok = r.ok && len(pairs)%2 == 0
	for i := range members {
		score, ok := parseFloat(pairs[2*i+1])
		r.ok = r.ok && ok
		members[i] = Member{score, pairs[2*i]}
	}
	return r.sortedSet(members)
}

// sortedSet refuses members that are there twice, and scores that are none.
func (r *rdbReader) sortedSet(members []Member) *SortedSet {
	names := make(map[string]bool, len(members))
	for _, m := range members {
		if names[m.Name] || math.IsNaN(m.Score) {
			r.ok = false
		}
		names[m.Name] = true
	}
	return sortedSetOf(members)
}

func (r *rdbReader) intset(blob string) (list []string) {
	from := rdbReader{unpacker{rest: blob, ok: r.ok}}
	size, n := from.little(4), from.little(4)
	if size != 2 && size != 4 && size != 8 || n*size != uint64(len(from.rest)) {
		r.ok = false
		return nil
	}
	for from.more() {
		list = append(list, formatInt(from.signed(size)))
	}
	return list
}

func (r *rdbReader) quicklist(second bool) *List {
	l := &List{}
	for range r.size() {
		container := uint64(quicklistPacked)
		if second {
			container, _ = r.length()
		}
		switch blob := r.str(); {
		case !r.ok:
			return l
		case container == quicklistPlain:
			l.room = append(l.room, blob)
		case container != quicklistPacked:
			r.ok = false
		case second:
			l.room = append(l.room, r.listpack(blob)...)
		default:
			l.room = append(l.room, r.ziplist(blob)...)
		}
	}
	return l
}

// bigEndian32 reads an unsigned integer of 4 bytes.
func (r *rdbReader) bigEndian32() uint64 {
	b := r.bytes(4)
	if !r.ok {
		return 0
	}
	return uint64(binary.BigEndian.Uint32([]byte(b)))
}
