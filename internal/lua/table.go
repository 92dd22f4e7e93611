package lua

import (
	"math"
	"math/bits"
)

// table is a Lua table. Its parts grow, shrink and are walked as those of
// Lua 5.1, so that pairs gives keys in the same order as in Redis.
type table struct {
	array    []value
	nodes    []node // empty, or a power of two
	lastFree int
	meta     *table
	memory   *memory
	readonly bool
	id       uint64
	mark     uint32
}

// node is an entry of the hash part. next is the distance to the next node of
// the same chain, 0 at its end.
type node struct {
	key, val value
	next     int
}

// Bytes that parts of a table cost.
const (
	tableBytes = 112
	arrayBytes = 24
	nodeBytes  = 56
)

func (m *memory) newTable(array, hash int) *table {
	m.ids++
	t := &table{memory: m, id: m.ids}
	m.charge(tableBytes)
	if array > 0 || hash > 0 {
		t.resize(array, hash)
	}
	return t
}

// stringHash is luaS_newlstr's.
func stringHash(s string) uint32 {
	h := uint32(len(s))
	step := len(s)>>5 + 1
	for i := len(s); i >= step; i -= step {
		h ^= h<<5 + h>>2 + uint32(s[i-1])
	}
	return h
}

// mainPosition is the node at which a key belongs.
func (t *table) mainPosition(k value) int {
	size := uint32(len(t.nodes))
	switch o := k.o.(type) {
	case string:
		return int(stringHash(o) & (size - 1))
	case numberTag:
		if k.n == 0 {
			return 0
		}
		b := math.Float64bits(k.n)
		return int((uint32(b) + uint32(b>>32)) % ((size - 1) | 1))
	case boolTag:
		return int(uint32(k.n) & (size - 1))
	case *table:
		return int(uint32(o.id) % ((size - 1) | 1))
	case *function:
		return int(uint32(o.id) % ((size - 1) | 1))
	case *thread:
		return int(uint32(o.id) % ((size - 1) | 1))
	}
	return 0
}

// arrayIndex is the place of a key in an array part, or 0.
func arrayIndex(k value) int {
	if k.isNumber() && k.n >= 1 && k.n < 1<<31 {
		if i := int(k.n); float64(i) == k.n {
			return i
		}
	}
	return 0
}

func (t *table) get(k value) value {
	switch o := k.o.(type) {
	case nil:
		return nilValue
	case string:
		return t.getString(o)
	case numberTag:
		if i := arrayIndex(k); i > 0 && i <= len(t.array) {
			return t.array[i-1]
		}
	}
	if n := t.find(k); n >= 0 {
		return t.nodes[n].val
	}
	return nilValue
}

func (t *table) getInt(i int) value {
	if i > 0 && i <= len(t.array) {
		return t.array[i-1]
	}
	if len(t.nodes) == 0 {
		return nilValue
	}
	return t.get(number(float64(i)))
}

func (t *table) getString(s string) value {
	if len(t.nodes) == 0 {
		return nilValue
	}
	return t.getHashed(s, stringHash(s))
}

func (t *table) getHashed(s string, hash uint32) value {
	if len(t.nodes) == 0 {
		return nilValue
	}
	for i := int(hash & uint32(len(t.nodes)-1)); ; {
		n := &t.nodes[i]
		if k, ok := n.key.o.(string); ok && k == s {
			return n.val
		}
		if n.next == 0 {
			return nilValue
		}
		i += n.next
	}
}

// find is the node of a key, or -1.
func (t *table) find(k value) int {
	if len(t.nodes) == 0 {
		return -1
	}
	for i := t.mainPosition(k); ; {
		n := &t.nodes[i]
		if n.key.o != nil && n.key.equal(k) {
			return i
		}
		if n.next == 0 {
			return -1
		}
		i += n.next
	}
}

// set stores without metamethods. The key is neither nil nor NaN.
func (t *table) set(k, v value) {
	if i := arrayIndex(k); i > 0 && i <= len(t.array) {
		t.array[i-1] = v
		return
	}
	if n := t.find(k); n >= 0 {
		t.nodes[n].val = v
		return
	}
	t.insert(k, v)
}

func (t *table) setInt(i int, v value) {
	if i > 0 && i <= len(t.array) {
		t.array[i-1] = v
		return
	}
	t.set(number(float64(i)), v)
}

func (t *table) setString(s string, v value) { t.set(str(s), v) }

// insert adds a key that is absent: luaH_newkey.
func (t *table) insert(k, v value) {
	if len(t.nodes) == 0 {
		t.rehash(k)
		t.set(k, v)
		return
	}
	main := t.mainPosition(k)
	if !t.nodes[main].val.isNil() {
		free := t.freeNode()
		if free < 0 {
			t.rehash(k)
			t.set(k, v)
			return
		}
		other := t.mainPosition(t.nodes[main].key)
		if other != main { // the node there is away from its own place: it moves
			for other+t.nodes[other].next != main {
				other += t.nodes[other].next
			}
			t.nodes[other].next = free - other
			t.nodes[free] = t.nodes[main]
			if t.nodes[main].next != 0 {
				t.nodes[free].next += main - free
			}
			t.nodes[main] = node{}
		} else {
			next := 0
			if t.nodes[main].next != 0 {
				next = main + t.nodes[main].next - free
			}
			t.nodes[free].next = next
			t.nodes[main].next = free - main
			main = free
		}
	}
	t.nodes[main].key, t.nodes[main].val = k, v
}

func (t *table) freeNode() int {
	for t.lastFree > 0 {
		t.lastFree--
		if t.nodes[t.lastFree].key.isNil() {
			return t.lastFree
		}
	}
	return -1
}

// rehash sizes both parts for the keys and one more.
func (t *table) rehash(extra value) {
	var counts [32]int
	array := t.countArray(&counts)
	total := array
	for i := len(t.nodes) - 1; i >= 0; i-- {
		if n := &t.nodes[i]; !n.val.isNil() {
			array += countKey(n.key, &counts)
			total++
		}
	}
	array += countKey(extra, &counts)
	total++
	size, inArray := arraySize(&counts, array)
	t.resize(size, total-inArray)
}

// countKey counts a key that could be in the array, by the logarithm of it.
func countKey(k value, counts *[32]int) int {
	if i := arrayIndex(k); i > 0 && i <= 1<<26 {
		counts[ceilLog2(i)]++
		return 1
	}
	return 0
}

func ceilLog2(i int) int { return bits.Len(uint(i - 1)) }

func (t *table) countArray(counts *[32]int) int {
	total := 0
	for i, v := range t.array {
		if !v.isNil() {
			counts[ceilLog2(i+1)]++
			total++
		}
	}
	return total
}

// arraySize is the largest power of two of which more than half is in use.
func arraySize(counts *[32]int, candidates int) (size, used int) {
	sum := 0
	for i, power := 0, 1; power/2 < candidates; i, power = i+1, power*2 {
		if counts[i] > 0 {
			sum += counts[i]
			if sum > power/2 {
				size, used = power, sum
			}
		}
		if sum == candidates {
			break
		}
	}
	return size, used
}

// resize makes the parts anew and enters what was in them, in Lua's order.
func (t *table) resize(array, hash int) {
	oldArray, oldNodes := t.array, t.nodes
	size := 0
	if hash > 0 {
		size = 1 << ceilLog2(hash)
	}
	t.memory.charge(array*arrayBytes + size*nodeBytes)
	if array != len(oldArray) {
		t.array = make([]value, array)
		copy(t.array, oldArray)
	}
	t.nodes, t.lastFree = nil, size
	if size > 0 {
		t.nodes = make([]node, size)
	}
	for i := array; i < len(oldArray); i++ {
		if !oldArray[i].isNil() {
			t.setInt(i+1, oldArray[i])
		}
	}
	for i := len(oldNodes) - 1; i >= 0; i-- {
		if !oldNodes[i].val.isNil() {
			t.set(oldNodes[i].key, oldNodes[i].val)
		}
	}
}

// next is the entry after a key; ok is false if the key is not of the table.
func (t *table) next(k value) (key, val value, ok bool) {
	i := 0
	if !k.isNil() {
		if a := arrayIndex(k); a > 0 && a <= len(t.array) {
			i = a
		} else if n := t.find(k); n >= 0 {
			i = len(t.array) + n + 1
		} else {
			return nilValue, nilValue, false
		}
	}
	for ; i < len(t.array); i++ {
		if !t.array[i].isNil() {
			return number(float64(i + 1)), t.array[i], true
		}
	}
	for i -= len(t.array); i < len(t.nodes); i++ {
		if n := &t.nodes[i]; !n.val.isNil() {
			return n.key, n.val, true
		}
	}
	return nilValue, nilValue, true
}

// length is a border of the table, the one that Lua finds.
func (t *table) length() int {
	j := len(t.array)
	if j > 0 && t.array[j-1].isNil() {
		return border(0, j, t)
	}
	if len(t.nodes) == 0 {
		return j
	}
	i := j
	for j++; !t.getInt(j).isNil(); {
		i = j
		j *= 2
		if j > math.MaxInt32 {
			i = 1
			for !t.getInt(i).isNil() {
				i++
			}
			return i - 1
		}
	}
	return border(i, j, t)
}

// border is between i, present or 0, and j, absent.
func border(i, j int, t *table) int {
	for j-i > 1 {
		if m := (i + j) / 2; t.getInt(m).isNil() {
			j = m
		} else {
			i = m
		}
	}
	return i
}
