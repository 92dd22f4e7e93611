package values

import "strings"

// Redis packs small collections into one string: a listpack since version 7, a
// ziplist before. Elements are strings; integers are given as their decimals.

const packedEnd = 0xff

// listpack returns the elements of a listpack.
func (r *rdbReader) listpack(blob string) []string {
	body, ok := strings.CutSuffix(blob, string([]byte{packedEnd}))
	from := rdbReader{unpacker{rest: body, ok: r.ok && ok}}
	if size := from.little(4); size != uint64(len(blob)) {
		from.ok = false
	}
	from.bytes(2) // the number of elements, if it is small
	var list []string
	for from.more() {
		before := len(from.rest)
		list = append(list, from.listpackElement())
		from.bytes(backLength(before - len(from.rest)))
	}
	r.ok = from.ok
	return list
}

// backLength is the size of the length that stands behind an element, for
// walking backwards.
func backLength(size int) uint64 {
	switch {
	case size < 1<<7:
		return 1
	case size < 1<<14:
		return 2
	case size < 1<<21:
		return 3
	case size < 1<<28:
		return 4
	}
	return 5
}

func (r *rdbReader) listpackElement() string {
	b := r.little(1)
	switch {
	case b&0x80 == 0:
		return formatInt(int64(b))
	case b&0xc0 == 0x80:
		return r.bytes(b & 0x3f)
	case b&0xe0 == 0xc0:
		n := int64((b&0x1f)<<8 | r.little(1))
		return formatInt(n << 51 >> 51) // 13 bits
	case b&0xf0 == 0xe0:
		return r.bytes((b&0x0f)<<8 | r.little(1))
	case b == 0xf0:
		return r.bytes(r.little(4))
	case b == 0xf1:
		return formatInt(r.signed(2))
	case b == 0xf2:
		return formatInt(r.signed(3))
	case b == 0xf3:
		return formatInt(r.signed(4))
	case b == 0xf4:
		return formatInt(r.signed(8))
	}
	r.ok = false
	return ""
}

// ziplist returns the elements of a ziplist.
func (r *rdbReader) ziplist(blob string) []string {
	body, ok := strings.CutSuffix(blob, string([]byte{packedEnd}))
	from := rdbReader{unpacker{rest: body, ok: r.ok && ok}}
	if size := from.little(4); size != uint64(len(blob)) {
		from.ok = false
	}
	from.bytes(4 + 2) // the place of the last element, and their number
	var list []string
	for from.more() {
		if from.little(1) == 0xfe { // the length of the element before
			from.bytes(4)
		}
		list = append(list, from.ziplistElement())
	}
	r.ok = from.ok
	return list
}

func (r *rdbReader) ziplistElement() string {
	b := r.little(1)
	switch {
	case b>>6 == 0:
		return r.bytes(b)
	case b>>6 == 1:
		return r.bytes((b&0x3f)<<8 | r.little(1))
	case b == 0x80:
		return r.bytes(r.bigEndian32())
	case b == 0xc0:
		return formatInt(r.signed(2))
	case b == 0xd0:
		return formatInt(r.signed(4))
	case b == 0xe0:
		return formatInt(r.signed(8))
	case b == 0xf0:
		return formatInt(r.signed(3))
	case b == 0xfe:
		return formatInt(r.signed(1))
	case b > 0xf0 && b < 0xfe:
		return formatInt(int64(b&0x0f) - 1)
	}
	r.ok = false
	return ""
}
