//go:build citus

package citus_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/cluster"
	"github.com/howdah/howdah/internal/test/dbtest"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/internal/test/seed"
)

// citusDuration is how long the long run takes: "go test -tags citus ./tests/citus -run
// TestLongRunOnCitus -citus.duration 10m -timeout 0 -v". 0: it does not run.
var citusDuration = flag.Duration("citus.duration", 0, "how long TestLongRunOnCitus runs; 0: not at all")

// storm is a run of all faults while partitions move, over two caches.
type storm struct {
	t         *testing.T
	cluster   *pgtest.Citus
	histories []*history // one of a cache with memory, one of class sync
	choices   *rand.Rand
	standbys  int

	moving     sync.Mutex    // held while partitions move
	amid       chan struct{} // receives where a move begins, if somebody waits for that
	made, torn atomic.Int64  // moves
	counts     map[string]int
	calls      int
}

func newStorm(t *testing.T) *storm {
	t.Helper()
	c := &storm{t: t, cluster: pgtest.StartCitus(t, 2), choices: seed.Rand(t), amid: make(chan struct{}), counts: map[string]int{}}
	for _, config := range []howdah.CacheConfig{{Name: "near", Near: true}, {Name: "sync", Durability: howdah.Sync}} {
		h := newHistory(t, c.cluster, config)
		h.anywhere, h.pace = true, 10*time.Millisecond
		c.histories = append(c.histories, h)
	}
	return c
}

// round makes one fault of each kind, in an order of its own, and judges all calls.
func (c *storm) round(name string) {
	faults := []func(){c.kill, c.promote, c.restartCoordinator, c.cut, c.switchMemory}
	c.choices.Shuffle(len(faults), func(i, j int) { faults[i], faults[j] = faults[j], faults[i] })
	for _, h := range c.histories {
		h.start(name)
	}
	c.histories[0].during(func() {
		c.histories[1].during(func() {
			stop := make(chan struct{})
			var work sync.WaitGroup
			choices := rand.New(rand.NewPCG(c.choices.Uint64(), 0))
			work.Go(func() { c.keepMoving(stop, choices) })
			defer work.Wait()
			defer close(stop)
			for _, fault := range faults {
				c.awaitCalls(50 + c.choices.IntN(100))
				fault()
			}
			c.repair()
			c.awaitCalm()
		})
	})
	for _, h := range c.histories {
		require.True(c.t, h.isLinearizable(), "%s: %v", h.config.Name, h.kinds)
		c.calls += len(h.calls) + len(h.recalled)
	}
}

// keepMoving moves partitions until stop: one of its choice, and then what Rebalance finds, in turns.
func (c *storm) keepMoving(stop <-chan struct{}, choices *rand.Rand) {
	pace := time.NewTicker(10 * time.Millisecond)
	defer pace.Stop()
	for n := 1; ; n++ {
		select {
		case <-stop:
			return
		case <-pace.C:
		}
		c.moving.Lock()
		select {
		case c.amid <- struct{}{}:
		default:
		}
		if n%2 == 0 {
			_ = c.rebalance()
		} else {
			c.move(choices.IntN(historyPartitions))
		}
		c.moving.Unlock()
	}
}

// move moves a partition to the other worker, if the coordinator can be asked.
func (c *storm) move(partition int) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, c.cluster.Coordinator().URL())
	if err != nil {
		return
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, `SELECT citus_schema_move(format('howdah_p%s', lpad(p.partition::text, 2, '0'))::regnamespace, n.nodename, n.nodeport, 'block_writes')
		FROM howdah_internal._places() AS p JOIN pg_dist_node AS n ON n.groupid NOT IN (0, p.server) WHERE p.partition = $1`, partition)
	if err != nil {
		c.torn.Add(1)
		return
	}
	c.made.Add(1)
}

// rebalance is "howdah rebalance".
func (c *storm) rebalance() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	config, err := pgx.ParseConfig(c.cluster.Coordinator().URL())
	if err != nil {
		return err
	}
	moves, err := cluster.Rebalance(ctx, config, cluster.RebalanceOptions{})
	c.made.Add(int64(len(moves)))
	if err != nil && !errors.Is(err, howdah.ErrUnavailable) {
		c.torn.Add(1)
	}
	return err
}

// kill kills a worker amid a move, and starts it again.
func (c *storm) kill() {
	victim := c.worker()
	begins := c.crash(victim)
	c.moving.Lock()
	defer c.moving.Unlock()
	lost := c.histories[0].on(victim)
	victim.Start()
	for i, h := range c.histories {
		h.lose(begins[i], lost)
	}
	c.counts["kills"]++
}

// promote kills a worker amid a move, and puts its standby in its place.
func (c *storm) promote() {
	victim := c.worker()
	c.standbys++
	standby := victim.Standby(fmt.Sprint("follower", c.standbys))
	victim.Synchronous(standby)
	begins := c.crash(victim)
	standby.Promote()
	c.moving.Lock()
	defer c.moving.Unlock()
	lost := c.histories[0].on(victim)
	c.cluster.Replace(victim, standby)
	for i, h := range c.histories {
		h.lose(begins[i], lost)
	}
	victim.Discard()
	c.counts["promotions"]++
}

// crash kills a server amid a move, and tells since when each history knows it dead.
func (c *storm) crash(victim *pgtest.Server) (begins []int64) {
	c.awaitMove()
	for _, h := range c.histories {
		begins = append(begins, h.now())
	}
	victim.Kill()
	c.awaitCalls(100)
	return begins
}

// restartCoordinator kills the coordinator amid a move, and starts it again.
func (c *storm) restartCoordinator() {
	c.awaitMove()
	c.cluster.Coordinator().Kill()
	c.awaitCalls(100)
	c.cluster.Coordinator().Start()
	c.counts["restarts of the coordinator"]++
}

// cut ends all connections of a server amid a move, those of Citus included.
func (c *storm) cut() {
	nodes := c.cluster.Nodes()
	node := nodes[c.choices.IntN(len(nodes))]
	c.awaitMove()
	conn, err := pgx.Connect(c.t.Context(), node.SuperURL())
	require.NoError(c.t, err)
	defer conn.Close(context.Background())
	_, err = conn.Exec(c.t.Context(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()")
	require.NoError(c.t, err)
	c.awaitCalls(100)
	c.counts["cuts"]++
}

// switchMemory switches the memory of a cache off and on.
func (c *storm) switchMemory() {
	h := c.histories[0]
	for _, on := range []bool{false, true} {
		config := h.config
		config.Near = on
		dbtest.Eventually(c.t, "memory is switched", func() bool {
			return h.processes[0].db.AlterCache(context.Background(), config, howdah.AlterOptions{}) == nil
		})
		c.awaitCalls(100)
	}
	c.counts["switches of memory"]++
}

// worker chooses one.
func (c *storm) worker() *pgtest.Server {
	c.moving.Lock()
	defer c.moving.Unlock()
	return c.cluster.Nodes()[1+c.choices.IntN(2)]
}

// awaitMove waits until a move begins.
func (c *storm) awaitMove() { <-c.amid }

func (c *storm) awaitCalls(number int) {
	for _, h := range c.histories {
		h.awaitMore(number, func() int { return len(h.calls) + len(h.recalled) + h.failedCalls() })
	}
}

// repair is what docs/scale-out.md says to do after a failure, until it is done: howdah
// rebalance and howdah migrate --citus. All servers fit then.
func (c *storm) repair() {
	c.t.Helper()
	c.moving.Lock()
	defer c.moving.Unlock()
	var err error
	dbtest.Eventually(c.t, "moves are repaired", func() bool {
		if err = c.rebalance(); err != nil {
			c.t.Log(err)
		}
		return err == nil
	})
	c.cluster.Divide(0)
	config, err := pgx.ParseConfig(c.cluster.Coordinator().URL())
	require.NoError(c.t, err)
	dbtest.Eventually(c.t, "all servers fit", func() bool { // Citus tells one that was away of changes within seconds
		states, err := cluster.List(context.Background(), config)
		return err == nil && !slices.ContainsFunc(states, func(s cluster.State) bool {
			return s.Problem != "" || s.Lacking > 0 || s.Number > 0 && len(s.Partitions) != historyPartitions/2
		})
	})
	for _, h := range c.histories {
		h.awaitServed()
	}
}

// awaitCalm waits until calls no longer fail while partitions move.
func (c *storm) awaitCalm() {
	c.t.Helper()
	failed := func() (sum int) {
		for _, h := range c.histories {
			h.mu.Lock()
			sum += h.failedCalls() + len(h.together)
			h.mu.Unlock()
		}
		return sum
	}
	for range 20 {
		before := failed()
		c.awaitMove()
		c.awaitCalls(300)
		if failed() == before {
			return
		}
	}
	c.t.Fatal("calls fail where nothing else does")
}

// Faults that come together, while partitions move, end neither what class sync has
// acknowledged, nor that each key has one state at a time.
func TestFaultsTogetherOnCitus(t *testing.T) { newStorm(t).round("round") }

// The same, again and again: each round has other keys and another order of faults.
func TestLongRunOnCitus(t *testing.T) {
	if *citusDuration == 0 {
		t.Skip("needs -citus.duration")
	}
	c := newStorm(t)
	rounds := 0
	for begin := time.Now(); time.Since(begin) < *citusDuration; rounds++ {
		c.round(fmt.Sprint("round", rounds, "-"))
		t.Logf("%d rounds: %d calls judged, %d moves made, %d torn, %v", rounds+1, c.calls, c.made.Load(), c.torn.Load(), c.counts)
	}
}
