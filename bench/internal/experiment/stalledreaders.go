package experiment

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/howdah/howdah/bench/internal/measure"
	"github.com/howdah/howdah/bench/internal/result"
	"github.com/howdah/howdah/bench/internal/service"
	"github.com/howdah/howdah/bench/internal/workload"
)

// stalledReaders asks what clients that ask for much and read nothing cost the
// server and the other clients.
func stalledReaders() Experiment {
	return Experiment{
		Name:  "stalled-readers",
		Title: "Clients that pipeline GETs of a large value and read no reply: memory, and what others notice",
		Needs: []service.Program{service.Postgres},
		Quick: 30 * time.Second, Full: 80 * time.Second,
		Run:   runStalledReaders,
		Judge: stalledVerdict,
	}
}

const (
	stalledOthers, stalledMemory = "GETs of others at 500/s", "Memory of howdah serve"
	stalledCase                  = "a value of 1 MB"
	stalledNone, stalledThere    = "no stalled clients", "stalled clients"
	stalledGone                  = "after they left"
	stalledKey                   = "the large value"
	stalledRate, stalledWorkers  = 500, 1024 // as many as wait when each takes two seconds
	stalledSize                  = 1 << 20
	stalledPeak                  = 8192 // MB: the clients leave, to spare the machine
	stalledGrowth                = 1024 // MB, of the verdict
	stalledKept                  = 256  // MB, of the verdict
)

// stall is the experiment with what it keeps between its turns.
type stall struct {
	*Bench
	result  *result.Result
	server  *service.Server
	clients int
	depth   int // GETs that each of them pipelines
	others  *redis.Client
	spec    workload.Spec
}

func runStalledReaders(ctx context.Context, b *Bench, r *result.Result) error {
	x := &stall{Bench: b, result: r, clients: b.scale(40, 4), depth: b.scale(20_000, 500), spec: b.Workload}
	x.spec.Keys = min(x.spec.Keys, 10_000)
	r.Set("stalled clients", fmt.Sprintf("%d, each of which sends %d GETs of one value of 1 MB; they leave at the end, or when the server has %d MB", x.clients, x.depth, stalledPeak))
	r.Set("howdah serve", "its defaults, a new one in each round")
	return b.turns(1, func(int) error { return x.round(ctx) })
}

// round measures the others on a new server: before the clients come, while
// they do not read, and after they have left.
func (x *stall) round(ctx context.Context) error {
	server, err := x.Serve(ctx)
	if err != nil {
		return err
	}
	defer server.Stop()
	x.server = server
	if err := loadOver(ctx, server.Addr, x.spec); err != nil {
		return err
	}
	x.others = redis.NewClient(&redis.Options{
		Addr: server.Addr, PoolSize: stalledWorkers, MaxRetries: -1, DialTimeout: time.Second, ReadTimeout: time.Second, PoolTimeout: time.Second,
	})
	defer x.others.Close()
	if err := x.others.Set(ctx, stalledKey, bytes.Repeat([]byte("x"), stalledSize), 0).Err(); err != nil {
		return err
	}
	if err := x.measure(ctx, stalledNone); err != nil {
		return err
	}
	if err := x.memory(ctx, stalledNone, server.Process.MemoryMB()); err != nil {
		return err
	}
	leave, err := x.come()
	if err != nil {
		return err
	}
	peak := x.watch(leave)
	err = x.measure(ctx, stalledThere)
	leave()
	if err == nil {
		err = x.measure(ctx, stalledGone)
	}
	highest := peak()
	if err != nil {
		return err
	}
	x.result.Add(stalledMemory, stalledCase, stalledThere, "resident", "MB", highest)
	return x.memory(ctx, stalledGone, server.Process.MemoryMB())
}

// memory notes the resident memory of the server, and what its heap holds now.
func (x *stall) memory(ctx context.Context, series string, resident float64) error {
	heap, err := infoNumber(ctx, x.server.Addr, "memory", "used_memory")
	x.result.Add(stalledMemory, stalledCase, series, "resident", "MB", resident)
	x.result.Add(stalledMemory, stalledCase, series, "heap", "MB", heap/(1<<20))
	x.Progress("%-20s %.0f MB resident, %.0f MB in the heap", series, resident, heap/(1<<20))
	return err
}

// come connects the clients and lets them send. leave closes them, once.
func (x *stall) come() (leave func(), err error) {
	var conns []net.Conn
	var sending sync.WaitGroup
	leave = sync.OnceFunc(func() {
		for _, c := range conns {
			c.Close()
		}
		sending.Wait()
	})
	request := bytes.Repeat(fmt.Appendf(nil, "*2\r\n$3\r\nGET\r\n$%d\r\n%s\r\n", len(stalledKey), stalledKey), x.depth)
	for range x.clients {
		conn, err := net.Dial("tcp", x.server.Addr)
		if err != nil {
			leave()
			return nil, err
		}
		conns = append(conns, conn)
		sending.Go(func() { conn.Write(request) }) // blocks once the server stops reading; Close ends it
	}
	return leave, nil
}

// watch follows the memory of the server until peak is called, which returns
// the highest. If it is too much for the machine, the clients leave.
func (x *stall) watch(leave func()) (peak func() float64) {
	done := make(chan struct{})
	highest := make(chan float64)
	go func() {
		most := 0.0
		for {
			if most = max(most, x.server.Process.MemoryMB()); most > stalledPeak {
				leave()
			}
			select {
			case <-done:
				highest <- most
				return
			case <-time.After(50 * time.Millisecond):
			}
		}
	}()
	return func() float64 { close(done); return <-highest }
}

// measure reads small values at a modest rate. A failed read counts.
func (x *stall) measure(ctx context.Context, series string) error {
	var failed atomic.Int64
	sources := workload.NewSources(x.spec, stalledWorkers)
	s, err := measure.Open(ctx, measure.Load{
		Workers: stalledWorkers, Duration: 6 * x.Duration,
		Do: func(ctx context.Context, w int) error {
			if err := x.others.Get(ctx, workload.Key(sources[w].Next())).Err(); err != nil {
				failed.Add(1)
			}
			return nil
		},
	}, stalledRate)
	if err != nil {
		return err
	}
	addOpen(x.result, stalledOthers, stalledCase, series, s)
	x.result.Add(stalledOthers, stalledCase, series, "failed", "%", 100*float64(failed.Load())/float64(s.Requests))
	x.Progress("%-20s p99 %.2f ms, %d failed", series, s.Milliseconds(99), failed.Load())
	return nil
}

func stalledVerdict(r *result.Result, _ []*result.Result) []result.Verdict {
	find := func(group, series, metric string) result.Metric {
		m, _ := r.Find(group, stalledCase, series, metric)
		return m
	}
	before, peak := find(stalledMemory, stalledNone, "resident"), find(stalledMemory, stalledThere, "resident")
	empty, after := find(stalledMemory, stalledNone, "heap"), find(stalledMemory, stalledGone, "heap")
	slower := r.RatioOf(stalledOthers, stalledCase, p99, stalledThere, stalledNone)
	failed := find(stalledOthers, stalledThere, "failed")
	return []result.Verdict{{
		Claim: "Clients that read no reply cost a bounded amount of memory, and hardly delay others", Source: "Howdah's own promise",
		Ours: fmt.Sprintf("%.0f MB resident before, %.0f MB at the highest; heap %.0f MB before, %.0f MB after they left; others' 99th percentile %.1f times, %.1f %% of their reads failed",
			before.Median(), peak.Median(), empty.Median(), after.Median(), result.Median(slower), failed.Median()),
		Bar: "at most 1 GB more, a heap of 256 MB after they left, others' 99th percentile at most 3 times, and none of their reads fails",
		Word: result.All(result.AtMost(peak.Rounds, before.Median()+stalledGrowth), result.AtMost(after.Rounds, stalledKept),
			result.AtMost(slower, 3), result.AtMost(failed.Rounds, 0)),
		Sentence: "A reply that is not read stays in memory until its client leaves; what bounds it is how much of a pipeline is answered ahead of its reader.",
	}}
}
