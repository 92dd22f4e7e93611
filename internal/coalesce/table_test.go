package coalesce

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/howdah/howdah/internal/test/seed"
)

func TestTablesHaveKeysOfTheirOwn(t *testing.T) {
	t.Parallel()
	inBubble(t, Options{}, func(r *rig) {
		a, b := r.table, r.NewTable(TableOptions{})
		release := make(chan struct{})
		held := make(chan error, 1)
		go func() {
			held <- a.Exclusive(background, []uint64{1}, func(context.Context) error { <-release; return nil })
		}()
		synctest.Wait()
		waits := r.start(newOp("waits", Set, 1).in(a))
		r.noFlight()
		r.start(newOp("x", Write, 9).in(a))
		f := r.flight()
		f.take()
		r.start(newOp("a", Set, 2).in(a))
		r.start(newOp("b", Set, 2).in(b)) // neither merges with a nor waits for it
		r.start(newOp("B", Set, 2).in(b))
		r.start(newOp("w", Write, 1).in(b))
		f.finish(nil)
		f = r.flight()
		r.batch(f.take(), "a B+b w ")
		r.start(newOp("r", Read, 1, 9).in(a)) // waits for the exclusive hold only
		rd := r.start(newOp("r", Read, 3, 9).in(a))
		r.flight().finish(nil)
		r.ended(nil, rd)
		f.complete(f.ops[2], nil)
		f.complete(f.ops[1], nil)
		f.complete(f.ops[0], nil)
		f.end()
		r.pending(waits)
		close(release)
		if err := <-held; err != nil {
			t.Error(err)
		}
		r.flight().finish(nil)
		r.flight().finish(nil)
		r.ended(nil, waits)
		checkEmpty(t, r.Coalescer, b)
		if s := b.Stats(); s.Merged != 1 || s.Writes != 1 || s.Reads != 0 || s.Keys != [KeyBuckets]uint64{0, 1} || s.KeysTotal != 2 {
			t.Errorf("%+v", s)
		}
		if s := a.Stats(); s.Merged != 0 || s.Writes != 3 || s.Keys != [KeyBuckets]uint64{3, 2} {
			t.Errorf("%+v", s)
		}
		if s := r.Stats(); s.Writes != 3 || s.Reads != 2 || s.KeysTotal != 9 {
			t.Errorf("%+v", s)
		}
	})
}

func TestOpOfNoTable(t *testing.T) {
	t.Parallel()
	c := New(Options{Run: trivial})
	other := New(Options{}).NewTable(TableOptions{})
	for _, op := range []*Op{newOp("none", Read, 1), newOp("other", Read, 1).in(other)} {
		func() {
			defer func() {
				if s := fmt.Sprint(recover()); !strings.Contains(s, "Table") {
					t.Errorf("op %v: %s", op.Call, s)
				}
			}()
			_ = c.Do(background, op)
		}()
	}
}

func TestQueueBoundsOfTables(t *testing.T) {
	t.Parallel()
	inBubble(t, Options{MaxQueueBytes: 5000}, func(r *rig) {
		a, b, c := r.NewTable(TableOptions{MaxQueueBytes: 3000}), r.NewTable(TableOptions{}), r.NewTable(TableOptions{})
		sized := func(table *Table, bytes int) *answer {
			op := newOp("a", Write).in(table)
			op.Bytes = bytes
			return r.start(op)
		}
		x := sized(a, 0)
		f := r.flight()
		f.take()
		first := sized(a, 2000)
		r.ended(ErrOverloaded, sized(a, 1000)) // the bound of the table
		second := sized(b, 2000)
		r.ended(ErrOverloaded, sized(b, 1000), sized(c, 1000)) // that of all
		if s := a.Stats(); s.Overloaded != 1 || s.Queued != 1 || s.QueuedBytes < 2000 || s.QueuedBytes > 3000 {
			t.Errorf("%+v", s)
		}
		if s := b.Stats(); s.Overloaded != 1 || s.Queued != 1 {
			t.Errorf("%+v", s)
		}
		if s := r.Stats(); s.Queued != 2 || s.QueuedBytes < 4000 {
			t.Errorf("%+v", s)
		}
		f.finish(nil)
		r.flight().finish(nil)
		r.ended(nil, x, first, second)
		checkEmpty(t, r.Coalescer, a, b, c)
	})
}

// TestFloodDelaysOthersByAFlight has one table whose queue never empties.
func TestFloodDelaysOthersByAFlight(t *testing.T) {
	t.Parallel()
	const maxKeys = 16
	for _, bytes := range []int{0, 60, 100} { // the flight is full by its keys, or by the bytes of few ops
		inBubble(t, Options{MaxKeys: maxKeys, MaxBytes: 100}, func(r *rig) {
			r.start(newOp("x", Write, 0))
			f := r.flight()
			for i := range uint64(40 * maxKeys) {
				op := newOp("a", Write, i+1)
				op.Bytes = bytes
				r.start(op)
			}
			for i := range 10 {
				f.takeAndSend()
				others := make([]*answer, i+1)
				for i := range others {
					others[i] = r.start(newOp("b", Write, 1).in(r.NewTable(TableOptions{})))
				}
				f.finish(nil)
				r.flight().finish(nil)
				f = r.flight()
				f.finish(nil)
				r.ended(nil, others...)
				f = r.flight()
			}
			f.finish(nil)
			drain(r)
		})
	}
}

// drain finishes the flights that follow until there are no more.
func drain(r *rig) {
	for {
		synctest.Wait()
		select {
		case f := <-r.arrived:
			f.finish(nil)
		default:
			return
		}
	}
}

// TestTurns checks, for queues of all lengths, that tables share each flight
// fairly, that the order within each is kept, and that a flight is full.
func TestTurns(t *testing.T) {
	t.Parallel()
	const maxKeys = 64
	rng := seed.Rand(t)
	for range 20 {
		inBubble(t, Options{MaxKeys: maxKeys}, func(r *rig) {
			r.start(newOp("x", Read, 0))
			f := r.flight()
			f.take()
			tables := make([]*Table, 1+rng.IntN(20))
			left := make([]int, len(tables))
			number := map[*Table]int{}
			total := 0
			for i := range tables {
				tables[i] = r.NewTable(TableOptions{})
				number[tables[i]] = i
				left[i] = 1 << rng.IntN(9)
				total += left[i]
			}
			for _, i := range rng.Perm(len(tables)) {
				for n := range left[i] {
					op := newOp("", Read, uint64(n)).in(tables[i])
					op.Call = n
					r.Start(op, func(*Op, error) {})
				}
			}
			next := make([]int, len(tables))
			for f.finish(nil); total > 0; {
				f = r.flight()
				got := make([]int, len(tables))
				for _, op := range f.takeAndSend() {
					i := number[op.Table]
					if op.Call != next[i] {
						t.Fatalf("op %d of table %d came after op %d", op.Call, i, next[i]-1)
					}
					next[i]++
					got[i]++
				}
				if len(f.ops) != min(maxKeys, total) {
					t.Errorf("%d ops in a flight, %d were ready", len(f.ops), total)
				}
				waiting := 0
				for i := range tables {
					if left[i] > 0 {
						waiting++
					}
					left[i] -= got[i]
				}
				total -= len(f.ops)
				for i, n := range got {
					if fair := maxKeys / min(waiting, turnsPerFlight); n < fair && left[i] > 0 && waiting <= turnsPerFlight {
						t.Errorf("%d ops of a table that had %d more in a flight that %d share", n, left[i], waiting)
					}
				}
				f.finish(nil)
			}
			checkEmpty(t, r.Coalescer, tables...)
		})
	}
}
