package lua

import (
	"encoding/binary"
	"math"
)

func (m *machine) msgpackLibrary() *table {
	t := m.library(map[string]builtin{
		"pack": msgpackPack, "unpack": msgpackUnpack, "unpack_one": msgpackUnpackOne, "unpack_limit": msgpackUnpackLimit,
	})
	t.setString("_NAME", str("cmsgpack"))
	t.setString("_VERSION", str("lua-cmsgpack 0.4.0"))
	t.setString("_COPYRIGHT", str("Copyright (C) 2012, Salvatore Sanfilippo"))
	t.setString("_DESCRIPTION", str("MessagePack C implementation for Lua"))
	return t
}

// maxPacked is how deep tables in tables are packed: nil stands for deeper ones.
const maxPacked = 16

func msgpackPack(th *thread, args []value) []value {
	if len(args) == 0 {
		th.argumentError(-1, "MessagePack pack needs input.")
	}
	if 2*len(args) > maxStack {
		th.argumentError(-1, "Too many arguments for MessagePack pack.")
	}
	w := &packer{th: th, m: th.m}
	for i, v := range args {
		w.stack = len(args) + i + 1
		w.value(v, 0)
	}
	return th.one(th.m.finished(w.dst))
}

type packer struct {
	th    *thread
	m     *machine
	dst   []byte
	stack int // how many values Redis has on the stack of the builtin
}

// room refuses to go deeper than the stack of Redis allows.
func (w *packer) room(n int, function string) {
	if w.stack+n > maxStack {
		w.th.fail("stack overflow (in function %s)", function)
	}
}

// above packs a value that Redis has n places further up on the stack.
func (w *packer) above(n int, v value, depth int) {
	w.stack += n
	w.value(v, depth)
	w.stack -= n
}

func (w *packer) value(v value, depth int) {
	w.m.tick()
	w.dst = w.m.grow(w.dst, 16)
	switch o := v.o.(type) {
	case string:
		w.length(len(o), 0xa0, 31, 0xd9, 0xda)
		w.dst = w.m.grow(w.dst, len(o))
		w.dst = append(w.dst, o...)
	case boolTag:
		w.dst = append(w.dst, 0xc2+byte(v.n))
	case numberTag:
		w.number(v.n)
	case *table:
		if depth == maxPacked {
			w.dst = append(w.dst, 0xc0)
		} else {
			w.table(o, depth)
		}
	default:
		w.dst = append(w.dst, 0xc0)
	}
}

// length writes a length: in the first byte up to small, by code8 (if any), or
// by code16 and the code after it.
func (w *packer) length(n int, first byte, small int, code8, code16 byte) {
	switch {
	case n <= small:
		w.dst = append(w.dst, first|byte(n))
	case code8 != 0 && n <= math.MaxUint8:
		w.dst = append(w.dst, code8, byte(n))
	case n <= math.MaxUint16:
		w.dst = binary.BigEndian.AppendUint16(append(w.dst, code16), uint16(n))
	default:
		w.dst = binary.BigEndian.AppendUint32(append(w.dst, code16+1), uint32(n))
	}
}

func (w *packer) number(n float64) {
	if n == math.Floor(n) && n >= -1<<63 && n < 1<<63 {
		w.integer(int64(n))
		return
	}
	if f := float32(n); float64(f) == n {
		w.dst = binary.BigEndian.AppendUint32(append(w.dst, 0xca), math.Float32bits(f))
		return
	}
	w.dst = binary.BigEndian.AppendUint64(append(w.dst, 0xcb), math.Float64bits(n))
}

func (w *packer) integer(n int64) {
	switch {
	case n >= 0 && n <= 127 || n < 0 && n >= -32:
		w.dst = append(w.dst, byte(n))
	case n >= 0 && n <= math.MaxUint8:
		w.dst = append(w.dst, 0xcc, byte(n))
	case n >= 0 && n <= math.MaxUint16:
		w.dst = binary.BigEndian.AppendUint16(append(w.dst, 0xcd), uint16(n))
	case n >= 0 && n <= math.MaxUint32:
		w.dst = binary.BigEndian.AppendUint32(append(w.dst, 0xce), uint32(n))
	case n >= 0:
		w.dst = binary.BigEndian.AppendUint64(append(w.dst, 0xcf), uint64(n))
	case n >= math.MinInt8:
		w.dst = append(w.dst, 0xd0, byte(n))
	case n >= math.MinInt16:
		w.dst = binary.BigEndian.AppendUint16(append(w.dst, 0xd1), uint16(n))
	case n >= math.MinInt32:
		w.dst = binary.BigEndian.AppendUint32(append(w.dst, 0xd2), uint32(n))
	default:
		w.dst = binary.BigEndian.AppendUint64(append(w.dst, 0xd3), uint64(n))
	}
}

// isArray tells whether the keys are 1 to n.
func isArray(t *table) bool {
	count, most := 0, 0.0
	ok := true
	for k, _, _ := t.next(nilValue); ok && !k.isNil(); k, _, _ = t.next(k) {
		ok = k.isNumber() && k.n > 0 && k.n == math.Floor(k.n)
		most = max(most, k.n)
		count++
	}
	return ok && most == float64(count)
}

func (w *packer) table(t *table, depth int) {
	w.room(2, "table_is_an_array")
	if isArray(t) {
		w.array(t, depth)
	} else {
		w.mapping(t, depth)
	}
}

func (w *packer) array(t *table, depth int) {
	w.room(1, "mp_encode_lua_table_as_array")
	n := t.length()
	w.length(n, 0x90, 15, 0, 0xdc)
	for i := 1; i <= n; i++ {
		w.above(1, t.getInt(i), depth+1)
	}
}

func (w *packer) mapping(t *table, depth int) {
	w.room(3, "mp_encode_lua_table_as_map")
	n := 0
	t.entries(func(value, value) { n++ })
	w.length(n, 0x80, 15, 0, 0xde)
	t.entries(func(k, v value) {
		w.above(3, k, depth+1)
		w.above(2, v, depth+1)
	})
}

func msgpackUnpack(th *thread, args []value) []value { return th.unpack(args, len(args), 0, 0) }

func msgpackUnpackOne(th *thread, args []value) []value {
	return th.unpack(args, 1, 1, th.optInteger(args, 1, 0))
}

func msgpackUnpackLimit(th *thread, args []value) []value {
	limit := th.checkInteger(args, 1)
	return th.unpack(args, 1, limit, th.optInteger(args, 2, 0))
}

// unpack reads values from the first argument, all if limit and offset are 0. given is how
// many arguments Redis then still has on the stack.
func (th *thread) unpack(args []value, given, limit, offset int) []value {
	s := th.checkString(args, 0)
	all := limit == 0 && offset == 0
	if offset < 0 || limit < 0 {
		th.fail("Invalid request to unpack with offset of %d and limit of %d.", offset, len(s))
	}
	if offset > len(s) {
		th.fail("Start offset %d greater than input length %d.", offset, len(s))
	}
	if all {
		limit = math.MaxInt32
	}
	r := &unpacker{th: th, data: s[offset:]}
	var list []value
	for len(r.data) > 0 && len(list) < limit {
		if given+len(list)+1 > maxStack {
			th.fail("stack overflow (too many return values at once; use unpack_one or unpack_limit instead.)")
		}
		list = append(list, r.value(0))
	}
	if all {
		return list
	}
	if given+len(list)+1 > maxStack {
		th.fail("stack overflow (in function mp_unpack_full)")
	}
	next := len(s) - len(r.data)
	if len(r.data) == 0 {
		next = -1
	}
	return append([]value{number(float64(next))}, list...)
}

// maxNestedPack is how deep tables in tables are unpacked: Redis needs three places of its stack for each.
const maxNestedPack = maxStack/3 - 1

// unpacker reads MessagePack.
type unpacker struct {
	th   *thread
	data string
}

func (r *unpacker) take(n int) string {
	if n > len(r.data) {
		r.th.fail("Missing bytes in input.")
	}
	s := r.data[:n]
	r.data = r.data[n:]
	return s
}

// unsigned reads a number of n bytes.
func (r *unpacker) unsigned(n int) (u uint64) {
	for _, b := range []byte(r.take(n)) {
		u = u<<8 | uint64(b)
	}
	return u
}

func (r *unpacker) value(depth int) value {
	r.th.m.tick()
	if depth > maxNestedPack {
		r.th.fail("stack overflow (in function mp_decode_to_lua_array)")
	}
	code := r.take(1)[0]
	switch {
	case code < 0x80:
		return number(float64(code))
	case code < 0x90:
		return r.mapping(int(code&15), depth)
	case code < 0xa0:
		return r.array(int(code&15), depth)
	case code < 0xc0:
		return r.th.m.newString(r.take(int(code & 31)))
	case code >= 0xe0:
		return number(float64(int8(code)))
	}
	switch code {
	case 0xc0:
		return nilValue
	case 0xc2, 0xc3:
		return boolean(code == 0xc3)
	case 0xc4, 0xc5, 0xc6:
		return r.th.m.newString(r.take(int(r.unsigned(1 << (code - 0xc4)))))
	case 0xca:
		return number(float64(math.Float32frombits(uint32(r.unsigned(4)))))
	case 0xcb:
		return number(math.Float64frombits(r.unsigned(8)))
	case 0xcc, 0xcd, 0xce, 0xcf:
		return number(float64(r.unsigned(1 << (code - 0xcc))))
	case 0xd0, 0xd1, 0xd2, 0xd3:
		n := 1 << (code - 0xd0)
		u := r.unsigned(n) << (64 - 8*n)
		return number(float64(int64(u) >> (64 - 8*n)))
	case 0xd9, 0xda, 0xdb:
		return r.th.m.newString(r.take(int(r.unsigned(1 << (code - 0xd9)))))
	case 0xdc, 0xdd:
		return r.array(int(r.unsigned(2<<(code-0xdc))), depth)
	case 0xde, 0xdf:
		return r.mapping(int(r.unsigned(2<<(code-0xde))), depth)
	}
	r.th.fail("Bad data format in input.")
	return nilValue
}

func (r *unpacker) array(n, depth int) value {
	t := r.th.m.newTable(0, 0)
	for i := 1; i <= n; i++ {
		t.setInt(i, r.value(depth+1))
	}
	return value{o: t}
}

func (r *unpacker) mapping(n, depth int) value {
	t := r.th.m.newTable(0, 0)
	for range n {
		k := r.value(depth + 1)
		v := r.value(depth + 1)
		r.th.rawSet(t, k, v)
	}
	return value{o: t}
}
