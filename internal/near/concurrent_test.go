package near

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/seed"
)

// crowd is a world whose process has many goroutines, in real time. The database
// does one thing at a time, under the mutex; Memory is not under it.
type crowd struct {
	*world
	t     *testing.T
	mu    sync.Mutex
	began time.Time
	hits  atomic.Int64
}

// at does something in the database.
func (c *crowd) at(do func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.time = int64(time.Since(c.began))
	do()
}

// read reads a key as an engine does: from memory, or else from the database. It
// judges what memory answers by what was known when the read began.
func (c *crowd) read(k *key, rng *rand.Rand) {
	var due, own, seen int
	c.at(func() {
		for i, v := range k.history {
			if v.acked >= 0 && v.acked <= c.time-int64(MinBound) {
				due = i
			}
		}
		own, seen = k.own, k.seen
	})
	if e, ok := k.cache.Get(k.name); ok {
		c.hits.Add(1)
		if index := int(e.Version); index < due || index < own || index < seen {
			c.t.Errorf("%s served value %d; due %d, own %d, seen %d", k.name, index, due, own, seen)
		}
		c.at(func() { k.seen = max(k.seen, int(e.Version)) })
		return
	}
	token := k.cache.Begin(k.hash)
	var e Entry
	var start int64
	c.at(func() {
		index := len(k.history) - 1
		e, start = Entry{Version: int64(index), Absent: k.history[index].absent}, c.start
	})
	if rng.IntN(4) == 0 {
		runtime.Gosched()
	}
	k.cache.Fill(token, k.name, e, start)
	c.at(func() { k.seen = max(k.seen, int(e.Version)) })
}

// write is a write of this process, outside of a transaction.
func (c *crowd) write(k *key) {
	k.cache.Bump(k.hash)
	token := k.cache.Begin(k.hash)
	index := -1
	var e Entry
	var start int64
	var xid uint64
	c.at(func() {
		if k.locked == nil {
			tx := c.begin()
			c.world.write(tx, k)
			c.end(tx, true, false)
			index, start, xid = len(k.history)-1, c.start, tx.xid
			e = Entry{Version: int64(index), Absent: k.history[index].absent}
		}
	})
	if index < 0 {
		k.cache.Bump(k.hash)
	} else {
		k.cache.Own(token, xid, start)
		k.cache.Wrote(token, k.name, e, start)
		c.at(func() {
			k.history[index].acked = c.time
			k.own = max(k.own, index)
		})
	}
}

// rest lets the readers read for a while, at most until ctx ends.
func rest(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// TestConcurrent judges hits while readers, writers, transactions, crashes and
// the follower run at the same time.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	seed := seed.Or(t, *seedFlag)
	c := &crowd{world: newWorld(t, seed, faults{}), t: t, began: time.Now()}
	m, err := New(Options{Bound: MinBound, Bytes: MinBytes, Poll: func(_ context.Context, since Cursor) (a Answer, err error) {
		c.at(func() {
			a = c.answer(since)
			c.light()
		})
		return a, nil
	}})
	require.NoError(t, err)
	c.m, c.caches = m, [2]*Cache{m.Cache(1, false), m.Cache(2, true)}
	for i, k := range c.keys {
		k.cache = c.caches[i%2]
	}
	ctx, cancel := context.WithCancel(t.Context())
	var run, readers, others sync.WaitGroup
	run.Go(func() { require.NoError(t, m.Run(ctx)) })
	for i := range uint64(3) {
		rng := rand.New(rand.NewPCG(seed, i))
		readers.Go(func() {
			for range 20_000 {
				c.read(c.keys[rng.IntN(len(c.keys))], rng)
			}
		})
	}
	others.Go(func() {
		rng := rand.New(rand.NewPCG(seed, 10))
		for ctx.Err() == nil {
			c.write(c.keys[rng.IntN(len(c.keys))])
			rest(ctx, time.Duration(rng.IntN(int(2*time.Millisecond))))
		}
	})
	others.Go(func() {
		for ctx.Err() == nil {
			var pause int
			c.at(func() {
				switch pause = c.rng.IntN(int(2 * time.Millisecond)); pause % 64 {
				case 0:
					c.crash()
				case 1, 2:
					c.flush(c.caches[pause%2])
				case 3, 4, 5, 6, 7, 8:
					c.trim()
				case 9, 10, 11, 12, 13, 14, 15, 16:
					c.ownTransaction()
				default:
					c.foreign()
				}
			})
			rest(ctx, time.Duration(pause))
		}
	})
	readers.Wait()
	cancel()
	others.Wait()
	run.Wait()
	t.Logf("%d hits judged; %+v", c.hits.Load(), m.Stats())
	require.Positive(t, c.hits.Load())
}
