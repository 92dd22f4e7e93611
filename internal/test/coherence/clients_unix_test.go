//go:build clients && unix

package coherence

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/await"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// watchedTable is a table of an application whose changes end entries of both caches.
const watchedTable = `
CREATE TABLE coherence.page (cache text, key text, edition bigint DEFAULT 1, PRIMARY KEY (cache, key));
SELECT howdah.watch_table('coherence.page', cache => 'db0', key => $$CASE WHEN cache = 'db0' THEN key END$$);
SELECT howdah.watch_table('coherence.page', cache => 'db1', key => $$CASE WHEN cache = 'db1' THEN key END$$)`

// home is a server that clients with copies read from, and what stands around it.
type home struct {
	process  int    // its number
	database *relay // before PostgreSQL
	relay    *relay // before the server
	faulty   *relay // the same, which swallows invalidations
	witness  *witness
}

// keeping is a run with clients that keep copies.
type keeping struct {
	*experiment
	homes   []*home
	keepers []*keeper
	readers []*reader
	rueidis []func() // wait for the end

	stop context.CancelFunc // of rueidis and the witnesses
	work sync.WaitGroup     // of the witnesses

	killed int64        // when a server was killed last
	paused atomic.Int64 // the longest time for which the machine let this process wait
}

// tolerance is what copies may be older than documented, for all processes of the run that wait for
// a processor: one of them may wait for long while this one, whose pauses are measured, does not. However
// large it is, a client that misses an invalidation is found: it answers the copy for as long as it is
// connected, and outlive waits for longer.
const tolerance = 15 * time.Second

// oldest is how long a client may go on answering a copy after a write of its key was acknowledged: a
// second, in which a server without PostgreSQL tells it to drop everything, or the bound if that is longer.
func (k *keeping) oldest() time.Duration {
	return max(k.bound, time.Second) + tolerance + 2*time.Duration(k.paused.Load())
}

// notePauses finds out how long the machine lets a process wait, until ctx ends.
func (k *keeping) notePauses(ctx context.Context) {
	for last := now(); ctx.Err() == nil; {
		time.Sleep(short)
		woken := now()
		k.paused.Store(max(k.paused.Load(), woken-last-int64(short)))
		last = woken
	}
}

// outlive lets the copies of clients that no invalidation reaches become too old. They lose
// them when their server is killed.
func (k *keeping) outlive() {
	k.t.Helper()
	age := func() time.Duration { return time.Duration(now() - k.killed) }
	k.await("copies to become too old", func() bool { return age() > 2*k.oldest() }, func() string { return age().Truncate(time.Second).String() })
}

// neverTold is the fault of a client whose server's invalidations are swallowed on the way.
const neverTold mutant = "it is never told"

// firstKeeper is the process number of the first client: those of servers and writers are less.
const firstKeeper = 100

// newKeeping starts two servers, one of which keeps entries in memory itself, and writers: SQL
// functions, triggers, watched tables, the library, and clients of both servers.
func newKeeping(t *testing.T, s *pgtest.Server) *keeping {
	t.Helper()
	k := &keeping{experiment: newExperiment(t, s.NewURL())}
	conn := k.connect(k.url)
	defer conn.Close(context.Background())
	for _, sql := range []string{watchedTable, "SELECT howdah.create_cache('db" + witnessDatabase + "', near => true)"} {
		_, err := conn.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	var servers []served
	for _, keeps := range []bool{true, false} {
		h := k.home(keeps)
		servers = append(servers, served{Process: h.process, Addr: h.relay.addr()})
	}
	k.experiment.start(orders{Servers: servers, Actors: []string{"sql", "trigger", "watch", "library", "redis", "redis"}})
	return k
}

// home starts a server with what stands around it.
func (k *keeping) home(keeps bool) *home {
	k.t.Helper()
	u, err := url.Parse(pgtest.TCP(k.url))
	require.NoError(k.t, err)
	h := &home{database: startRelay(k.t, u.Host, nil)}
	u.Host = h.database.addr()
	p := k.experiment.start(orders{URL: u.String(), Serve: true, Keeps: keeps})
	h.process = p.orders.Process
	h.relay = startRelay(k.t, p.addr, nil)
	h.faulty = startRelay(k.t, p.addr, func(client net.Conn) io.Writer { return &withoutInvalidations{client: client} })
	// The witness is no client of a relay: it must see what the server does.
	h.witness = &witness{name: fmt.Sprintf("witness-%d", h.process), server: func() string { return *h.relay.server.Load() }, url: k.url}
	k.homes = append(k.homes, h)
	return h
}

func startRelay(t testing.TB, server string, wrap func(client net.Conn) io.Writer) *relay {
	t.Helper()
	r, err := newRelay(server, wrap)
	require.NoError(t, err)
	t.Cleanup(r.close)
	return r
}

// mend ends what cut began.
func (r *relay) mend() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.isCut = false
}

// kill kills a server and starts another one in its place.
func (k *keeping) kill(h *home) {
	k.t.Helper()
	old := k.processes[h.process-1]
	old.kill()
	k.killed = now()
	p := start(k.t, old.orders)
	k.processes[h.process-1] = p
	h.relay.server.Store(&p.addr)
	h.faulty.server.Store(&p.addr)
}

// loseDatabase cuts a server off PostgreSQL until it has told its clients to drop everything, what was
// written meanwhile included.
func (k *keeping) loseDatabase(h *home) {
	k.t.Helper()
	_, before := h.witness.counts()
	h.database.cut()
	k.await("clients to be told to drop everything", func() bool {
		_, outages := h.witness.counts()
		return outages > before
	})
	h.database.mend()
}

// keeper adds a client that keeps copies.
func (k *keeping) keeper(name string, h *home, database int, fault mutant) *keeper {
	if fault != sound {
		name += " (" + string(fault) + ")"
	}
	added := &keeper{name: name, process: firstKeeper + len(k.keepers), home: h, database: database, fault: fault}
	k.keepers = append(k.keepers, added)
	return added
}

// startClients starts all clients. Three break a rule: one is never told of a change, one keeps its copies when it
// loses the connection, and Lettuce does that by itself.
func (k *keeping) startClients(installed *installation) {
	k.t.Helper()
	ctx, stop := context.WithCancel(k.t.Context())
	k.stop = stop
	k.t.Cleanup(stop)
	for _, h := range k.homes {
		k.work.Go(func() { h.witness.watch(ctx) })
	}
	k.work.Go(func() { k.notePauses(ctx) })
	remembers, forgets := k.homes[0], k.homes[1]
	program := func(added *keeper, words []string, more ...string) {
		words = slices.Concat(words, more)
		k.readers = append(k.readers, added.start(k.t, installed.env, words[0], words[1:]...))
	}
	program(k.keeper("redis-py", remembers, 0, sound), installed.python)
	program(k.keeper("node-redis", forgets, 1, sound), installed.node)
	program(k.keeper("Jedis", remembers, 1, sound), installed.java, "jedis")
	program(k.keeper("Lettuce with a guard", forgets, 0, sound), installed.java, "lettuce-guarded")
	program(k.keeper("Lettuce", forgets, 0, "it drops nothing when the connection ends"), installed.java, "lettuce")
	program(k.keeper("redis-py", forgets, 0, "it drops nothing when the connection ends"), installed.python, "faulty")
	told, untold := k.keeper("rueidis", forgets, 0, sound), k.keeper("rueidis", remembers, 1, neverTold)
	k.rueidis = append(k.rueidis, told.runRueidis(ctx, k.t, forgets.relay.addr()), untold.runRueidis(ctx, k.t, remembers.faulty.addr()))
}

// progress waits until every client has had so many hits more, and every server was seen to tell them of
// changes several times.
func (k *keeping) progress(hits int64) {
	k.t.Helper()
	before := map[*keeper]int64{}
	for _, c := range k.keepers {
		before[c] = c.hits.Load()
	}
	barriers := map[*home]int{}
	for _, h := range k.homes {
		barriers[h], _ = h.witness.counts()
	}
	var late string
	k.await("hits of all clients", func() bool {
		for c, n := range before {
			if got := c.hits.Load() - n; got < hits && c.fault == sound {
				late = fmt.Sprintf("%s has %d of %d", c.name, got, hits)
				return false
			}
		}
		for h, n := range barriers {
			if all, _ := h.witness.counts(); all < n+5 {
				late = fmt.Sprintf("server %d told of %d changes", h.process, all-n)
				return false
			}
		}
		return true
	}, func() string { return late })
}

// await waits for a condition. Who knows what is missing tells it in a text of its own, and while
// that changes there is hope: a busy machine is slow.
func (k *keeping) await(what string, condition func() bool, missing ...func() string) {
	k.t.Helper()
	last := ""
	for !await.Until(context.Background(), condition) {
		now := ""
		for _, tell := range missing {
			now += tell()
		}
		if now == last {
			k.giveUp(what, last)
		}
		last = now
	}
}

// giveUp ends the test, which waited in vain.
func (k *keeping) giveUp(what, missing string) {
	k.t.Helper()
	for _, c := range k.keepers {
		k.t.Logf("%s: %d reads, %d hits", c.name, c.reads.Load(), c.hits.Load())
	}
	for _, h := range k.homes {
		all, outages := h.witness.counts()
		k.t.Logf("server %d: %d barriers, %d of them while polls failed", h.process, all, outages)
	}
	for _, r := range k.readers {
		k.t.Logf("%s said:\n%s", r.name, r.lastWords())
	}
	k.t.Fatalf("never: %s (%s)", what, missing)
}

// finish ends all and judges the reads of each client.
func (k *keeping) finish() {
	k.t.Helper()
	for _, r := range k.readers {
		r.finish()
	}
	k.stop()
	for _, wait := range k.rueidis {
		wait()
	}
	k.work.Wait()
	h, reads := k.end()
	v := h.Judge(reads, k.bound)
	require.Zero(k.t, v.Violations(), "of the writers, who read too: %v\n%q", v, v.First)
	for _, c := range k.keepers {
		v := h.Judge(c.judged(), k.bound)
		k.t.Logf("%s: %d reads (%d failed), %d hits; %s; %v", c.name, c.reads.Load(), c.fails, c.hits.Load(), spread(v.Ages[c.process]), v)
		oldest := slices.Max(append(v.Ages[c.process], 0))
		if c.fault != sound {
			require.NotZero(k.t, v.Broken[Kept], c.name)
			require.True(k.t, c.fault != neverTold || oldest > k.oldest(), "%s: its oldest copy, of %v, is not found", c.name, oldest)
			continue
		}
		assert.LessOrEqual(k.t, oldest, k.oldest(), "%s answered a copy for too long", c.name)
		for _, text := range v.First {
			k.t.Log(text)
		}
		assert.Zero(k.t, v.Violations(), c.name)
		require.Greater(k.t, v.Close, 100, c.name)
	}
	for _, home := range k.homes {
		all, outages := home.witness.counts()
		k.t.Logf("server %d: %d barriers, %d of them while polls failed", home.process, all, outages)
	}
}

// spread says in a sentence how long copies were answered after a write of their key was acknowledged.
func spread(ages []time.Duration) string {
	if len(ages) == 0 {
		return "no copy was older than a write"
	}
	slices.Sort(ages)
	at := func(part float64) time.Duration {
		return ages[int(part*float64(len(ages)-1))].Round(100 * time.Microsecond)
	}
	return fmt.Sprintf("%d copies were older than an acknowledged write, by %v in the median, %v in 99 of 100, %v at most",
		len(ages), at(0.5), at(0.99), at(1))
}

// TestClientsThatKeepCopies: what clients of Redis answer from their own memory is no older than what the server
// has told them, while servers are killed and cannot poll.
func TestClientsThatKeepCopies(t *testing.T) {
	s := twoPhase(t)
	k := newKeeping(t, s)
	k.startClients(install(t))
	faults := []func(){
		func() { k.kill(k.homes[0]) },
		func() { k.loseDatabase(k.homes[1]) },
		func() { k.kill(k.homes[1]) },
		func() { k.loseDatabase(k.homes[0]) },
	}
	const hits = 500
	k.progress(hits)
	begun := time.Now()
	for i := 0; i < len(faults) || time.Since(begun) < *duration; i++ {
		from := now()
		faults[i%len(faults)]()
		t.Logf("fault %d from %d to %d ns", i, from, now())
		k.progress(hits)
	}
	k.outlive()
	k.finish()
}
