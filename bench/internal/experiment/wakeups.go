package experiment

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/howdah/howdah/bench/internal/measure"
	"github.com/howdah/howdah/bench/internal/result"
	"github.com/howdah/howdah/bench/internal/service"
)

// wakeups measures clients that wait for elements of lists.
func wakeups() Experiment {
	return Experiment{
		Name:  "wakeups",
		Title: "Clients that wait (BLPOP): how soon they are served, and what 10,000 of them cost",
		Needs: []service.Program{service.Postgres, service.Redis},
		Quick: 40 * time.Second, Full: 110 * time.Second,
		Run:   runWakeups,
		Judge: wakeupVerdicts,
	}
}

const (
	wakeHere, wakeThere = "RPUSH to a client that waits on the same server", "RPUSH to a client that waits on another server"
	wakeIdle            = "Clients that wait for nothing"
	wakeRate            = 100 // a second
	wakeClients         = 16
	wakeMost            = 50 // ms, the 99th percentile to another server
	idleWaiters         = 10_000
	idleCPU             = "server CPU"
	idleShare           = "% of a core"
	// idleMost is how much of a core may go to clients that wait for nothing.
	idleMost = 5
)

// wakePaces are offered rates; 0: as fast as answers come.
var wakePaces = []struct {
	name string
	rate float64
}{
	{fmt.Sprintf("%d wake-ups/s", wakeRate), wakeRate},
	{"as many as can be", 0},
}

func runWakeups(ctx context.Context, b *Bench, r *result.Result) error {
	servers, err := b.waitingServers(ctx)
	if err != nil {
		return err
	}
	pairs, err := b.pairs(ctx)
	if err != nil {
		return err
	}
	r.Set("wake-ups", fmt.Sprintf("%d clients wait with BLPOP for a list each, and %d others push one element at a time; the time is from before RPUSH is sent until BLPOP is answered", wakeClients, wakeClients))
	r.Set(servedHowdah, "its defaults but --max-clients, UNLOGGED cache, PostgreSQL by Unix socket")
	b.describePairs(r)
	for _, pace := range wakePaces {
		err := b.turns(len(servers), func(i int) error {
			l := wakeLoad{to: servers[i].addr, from: servers[i].addr, rate: pace.rate}
			return b.wakes(ctx, r, l, wakeHere, pace.name, servers[i].name, servers[i].parts)
		})
		if err != nil {
			return err
		}
		r.Compare(wakeHere, pace.name, map[bool]string{true: p99, false: throughput}[pace.rate > 0], servedHowdah, servedRedis, 0, pace.rate > 0)
	}
	err = b.turns(len(pairs), func(i int) error {
		l := wakeLoad{to: pairs[i].first, from: pairs[i].second, rate: wakeRate}
		return b.wakes(ctx, r, l, wakeThere, wakePaces[0].name, pairs[i].name, pairs[i].parts)
	})
	if err != nil {
		return err
	}
	return b.turns(len(servers), func(i int) error { return b.idle(ctx, r, servers[i]) })
}

// waitingServers are servers that take many clients.
func (b *Bench) waitingServers(ctx context.Context) ([]served, error) {
	pg, err := b.Postgres(ctx)
	if err != nil {
		return nil, err
	}
	most := strconv.Itoa(idleWaiters + 100)
	howdahServer, err := b.serve(ctx, service.StartHowdah, pg.SocketURL, "--max-clients", most)
	if err != nil {
		return nil, err
	}
	redisServer, err := b.redisWith(ctx, "redis-waiters", "--maxclients", most)
	if err != nil {
		return nil, err
	}
	return []served{
		{servedHowdah, howdahServer.Addr, []part{server(howdahServer.Process), database(pg.Process)}},
		{servedRedis, redisServer.Addr, []part{server(redisServer.Process)}},
	}, nil
}

// wakes is one turn of a load.
func (b *Bench) wakes(ctx context.Context, r *result.Result, l wakeLoad, group, which, series string, parts []part) error {
	l.warmup, l.duration = b.warmup(), b.Duration
	if l.rate > 0 {
		l.duration *= 4
	}
	m := newMeter(parts...)
	s, latency, err := l.run(ctx, m)
	if err != nil {
		return fmt.Errorf("%s, %s, %s: %w", group, which, series, err)
	}
	if l.rate > 0 {
		r.Add(group, which, series, p99, ms, inMilliseconds(latency, 99))
		r.Add(group, which, series, p50, ms, inMilliseconds(latency, 50))
		r.Add(group, which, series, throughput, perSecond, s.Rate())
	} else {
		r.Add(group, which, series, throughput, perSecond, s.Rate())
		r.Add(group, which, series, p50, ms, inMilliseconds(latency, 50))
		r.Add(group, which, series, p99, ms, inMilliseconds(latency, 99))
	}
	m.add(r, group, which, series, s.Requests)
	b.Progress("%-48s %-18s %-18s %8.0f/s  p50 %.2f ms, p99 %.2f ms", group, which, series, s.Rate(), inMilliseconds(latency, 50), inMilliseconds(latency, 99))
	return nil
}

// wakeLoad is clients that wait on one server, each for a list of its own, and others that
// push on a server.
type wakeLoad struct {
	to, from         string // where elements are pushed, and where clients wait
	rate             float64
	warmup, duration time.Duration
}

// run measures. The next element of a list is pushed when the last one has been taken.
func (l wakeLoad) run(ctx context.Context, m *meter) (s measure.Sample, latency *hdrhistogram.Histogram, err error) {
	pushers, waiters := make([]*lineConn, wakeClients), make([]*lineConn, wakeClients)
	turn := time.Now().UnixNano() // a server may not know yet that those of the last one have left
	key := func(i int) string { return fmt.Sprintf("wake:%d:%d", turn, i) }
	for i := range wakeClients {
		if pushers[i], err = dialLines(ctx, l.to); err != nil {
			return s, nil, err
		}
		defer pushers[i].Close()
		if waiters[i], err = dialLines(ctx, l.from); err != nil {
			return s, nil, err
		}
		defer waiters[i].Close()
		if err := waiters[i].send("BLPOP", key(i), "0"); err != nil {
			return s, nil, err
		}
	}
	for i := range wakeClients { // then each server knows that clients wait on the other
		if _, err := wake(pushers[i], waiters[i], key(i)); err != nil {
			return s, nil, err
		}
	}
	var measured atomic.Bool
	var mu sync.Mutex
	latency = measure.NewLatency()
	load := m.attach(measure.Load{
		Workers: wakeClients, Warmup: l.warmup, Duration: l.duration,
		Do: func(_ context.Context, w int) error {
			counts := measured.Load()
			took, err := wake(pushers[w], waiters[w], key(w))
			if err == nil && counts {
				mu.Lock()
				defer mu.Unlock()
				err = latency.RecordValue(max(int64(took), 1000))
			}
			return err
		},
	})
	begin := load.Begin
	load.Begin = func() { begin(); measured.Store(true) }
	if l.rate > 0 {
		s, err = measure.Open(ctx, load, l.rate)
	} else {
		s, err = measure.Closed(ctx, load)
	}
	return s, latency, err
}

// wake pushes an element for a client that waits, and lets it wait again.
func wake(pusher, waiter *lineConn, key string) (took time.Duration, err error) {
	element := strconv.FormatInt(time.Now().UnixNano(), 10)
	start := time.Now()
	if err := pusher.send("RPUSH", key, element); err != nil {
		return 0, err
	}
	if err := waiter.expect("*2", "", key, "", element); err != nil {
		return 0, fmt.Errorf("BLPOP: %w", err)
	}
	took = time.Since(start)
	if err := pusher.expect(":1"); err != nil {
		return 0, fmt.Errorf("RPUSH: %w", err)
	}
	return took, waiter.send("BLPOP", key, "0")
}

// lineConn is a connection that is answered with lines.
type lineConn struct {
	net.Conn
	in *bufio.Reader
}

func dialLines(ctx context.Context, addr string) (*lineConn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return &lineConn{conn, bufio.NewReaderSize(conn, 256)}, nil
}

func (c *lineConn) send(words ...string) error {
	if err := c.SetDeadline(time.Now().Add(respTimeout)); err != nil {
		return err
	}
	out := fmt.Appendf(nil, "*%d\r\n", len(words))
	for _, w := range words {
		out = appendBulk(out, w)
	}
	_, err := c.Write(out)
	return err
}

// expect reads lines that must be those; "" is any.
func (c *lineConn) expect(lines ...string) error {
	if err := c.SetReadDeadline(time.Now().Add(respTimeout)); err != nil {
		return err
	}
	for _, want := range lines {
		line, err := c.in.ReadString('\n')
		if err != nil {
			return err
		}
		if want != "" && line != want+"\r\n" {
			return fmt.Errorf("the answer is %q, not %q", line, want)
		}
	}
	return nil
}

// idle measures what a server uses while many clients wait.
func (b *Bench) idle(ctx context.Context, r *result.Result, s served) error {
	n := b.scale(idleWaiters, idleWaiters/10)
	for i := range n {
		c, err := dialLines(ctx, s.addr)
		if err != nil {
			return err
		}
		defer c.Close()
		if err := c.send("BLPOP", fmt.Sprintf("idle:%d", i), "0"); err != nil {
			return err
		}
	}
	if err := awaitBlocked(ctx, s.addr, n); err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	d := 5 * b.Duration
	m := newMeter(s.parts...)
	m.begin()
	start := time.Now()
	select {
	case <-time.After(d):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	m.finish()
	which := fmt.Sprintf("%d clients", n)
	for i, p := range m.parts {
		r.Add(wakeIdle, which, s.name, p.name+" CPU", idleShare, 100*(m.after[i]-m.before[i])/time.Since(start).Seconds())
	}
	r.Add(wakeIdle, which, s.name, "server memory", "MB", s.parts[0].process.MemoryMB())
	b.Progress("%-48s %-18s %-18s %.1f %% of a core", wakeIdle, which, s.name, r.Value(wakeIdle, which, s.name, idleCPU))
	return nil
}

// awaitBlocked waits until a server counts so many clients that wait.
func awaitBlocked(ctx context.Context, addr string, n int) error {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, fmt.Errorf("it does not count %d clients that wait within a minute", n))
	defer cancel()
	for {
		blocked, err := infoNumber(ctx, addr, "clients", "blocked_clients")
		if err != nil || int(blocked) >= n {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func wakeupVerdicts(r *result.Result, _ []*result.Result) []result.Verdict {
	there := roundsOf(r, wakeThere, byNotify, p99)
	servers, databases := roundsOf(r, wakeIdle, servedHowdah, idleCPU), roundsOf(r, wakeIdle, servedHowdah, "database CPU")
	return []result.Verdict{{
		Claim: "A client that waits on another server is woken soon", Source: "Howdah's own promise",
		Ours: fmt.Sprintf("99 of 100 within %.2g ms at %d wake-ups/s; on the same server within %.2g ms, of redis-server within %.2g ms",
			result.Median(there), wakeRate, r.Value(wakeHere, wakePaces[0].name, servedHowdah, p99), r.Value(wakeHere, wakePaces[0].name, servedRedis, p99)),
		Bar:      fmt.Sprintf("at most %d ms", wakeMost),
		Word:     result.AtMost(there, wakeMost),
		Sentence: "The element is a row, and so is the message that it is there.",
	}, {
		Claim: "Clients that wait cost no CPU", Source: "Howdah's own promise",
		Ours:     fmt.Sprintf("%s that wait: %.1f %% of a core in the server, %.1f %% in PostgreSQL", strings.Join(r.Cases(wakeIdle), ", "), result.Median(servers), result.Median(databases)),
		Bar:      fmt.Sprintf("at most %d %% of a core, each", idleMost),
		Word:     result.All(result.AtMost(servers, idleMost), result.AtMost(databases, idleMost)),
		Sentence: "They have neither a goroutine nor a connection; once a second the keys are looked at, 256 with a statement.",
	}}
}
