package near

import "sync"

// overhead is what an entry takes beside its key and value: the item, the node
// of the cache with its place in the queues, and the bucket of the table.
// TestOverhead measures it.
const overhead = 176

func (it *item) weight(key entryKey) int64 {
	return int64(len(key.key)) + int64(cap(it.value)) + overhead
}

// absents keeps the entries that say that a key is absent within their part of
// the budget: a program that asks for random keys must not displace values. The
// oldest go first.
type absents struct {
	mu     sync.Mutex
	budget int64
	queue  []absent // by age; those of which memory holds a newer answer included
	weight int64    // of the queue
}

type absent struct {
	key  entryKey
	item *item
}

// limitAbsents notes an absent key that has come into memory, and removes the
// oldest that exceed the budget. It is called without the lock of a key.
func (m *Memory) limitAbsents(key entryKey, it *item) {
	a := &m.absents
	a.mu.Lock()
	a.queue = append(a.queue, absent{key, it})
	a.weight += it.weight(key)
	gone := 0
	for ; a.weight > a.budget; gone++ {
		a.weight -= a.queue[gone].item.weight(a.queue[gone].key)
	}
	old := a.queue[:gone:gone]
	a.queue = a.queue[gone:]
	a.mu.Unlock()
	for _, o := range old {
		m.remove(o.key, o.item)
	}
}

// resize changes the part of the budget; the next absent key makes what exceeds it leave.
func (a *absents) resize(budget int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.budget = budget
}
