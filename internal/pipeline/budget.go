package pipeline

import (
	"math"
	"sync/atomic"
)

// Free is what each connection may hold whatever the others hold, in bytes. It
// is not charged to the [Budget], so that small requests are served while a few
// connections hold much.
const Free = 64 << 10

// Budget bounds the memory that the connections of a server hold together:
// input, requests, values and replies. A connection may hold a part of what is
// left, so that connections that take much stop each other before there is
// nothing left for the rest. A nil Budget has no bound. It is safe for
// concurrent use.
type Budget struct {
	limit    int64
	used     atomic.Int64
	released atomic.Int64
}

// NewBudget makes a Budget of limit bytes.
func NewBudget(limit int64) *Budget { return &Budget{limit: limit} }

// Limit returns the bound in bytes.
func (b *Budget) Limit() int64 { return b.limit }

// Used returns what the connections hold now, in bytes, without their Free part.
func (b *Budget) Used() int64 { return b.used.Load() }

// Released returns how much the connections have given up since the start, in
// bytes.
func (b *Budget) Released() int64 { return b.released.Load() }

// Exceeded tells whether more is held than the bound. What was under way when
// the budget was used up can bring that about.
func (b *Budget) Exceeded() bool { return b != nil && b.used.Load() > b.limit }

func (b *Budget) left() int {
	if b == nil {
		return math.MaxInt
	}
	return int(max(0, b.limit-b.used.Load()))
}

// A connection may hold a quarter of what is left, and one command half of it.
const (
	connectionPart = 4
	commandPart    = 2
)

// share returns how much a connection may hold before its next request waits.
func (b *Budget) share() int { return max(Free, b.left()/connectionPart) }

// fits tells whether a request of size bytes may be received, of which missing
// are still to come.
func (b *Budget) fits(size, missing int) bool {
	return size <= Free || missing <= b.left()/commandPart
}

// Account is what one holder of memory is charged for. It must not be used by
// two goroutines at once.
type Account struct {
	budget  *Budget
	charged int
}

// NewAccount makes an Account of a budget, which may be nil.
func NewAccount(b *Budget) Account { return Account{budget: b} }

// step is the least change that is charged: the budget is shared by all
// connections, and most of them never come near it.
const step = 16 << 10

// Set says how much is held now, in bytes.
func (a *Account) Set(held int) {
	if a.budget == nil {
		return
	}
	if held <= Free {
		held = 0
	}
	change := held - a.charged
	if change == 0 || held != 0 && -step < change && change < step {
		return
	}
	a.charged = held
	a.budget.used.Add(int64(change))
	if change < 0 {
		a.budget.released.Add(int64(-change))
	}
}
