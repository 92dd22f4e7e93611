//go:build peers

package experiment

import (
	"testing"
	"time"

	"github.com/howdah/howdah/bench/internal/result"
	"github.com/howdah/howdah/bench/internal/rival"
)

// With Redis and Memcached beside it: every contestant of the library's
// comparison.
func TestLibraryWithPeers(t *testing.T) {
	r, err := named(t, "library").Do(t.Context(), tiny(t))
	if err != nil {
		t.Fatal(err)
	}
	checkResult(t, r)
	for _, series := range []string{rival.HowdahName, rival.GoRedisName, rival.RueidisName, rival.MemcachedName, rival.PgxName} {
		for _, mix := range mixes {
			if r.Value(mix.name, "64", series, throughput) <= 0 {
				t.Errorf("%s of %s was not measured", mix.name, series)
			}
		}
	}
	if n := r.Value("GET", "64", rival.HowdahName, batchSize); n < 2 {
		t.Errorf("64 callers shared statements of %.1f keys", n)
	}
	if len(r.Ratios) < 12 {
		t.Errorf("only %d ratios", len(r.Ratios))
	}
}

// The experiments that need other servers, as small as they go.
func TestSmokeWithPeers(t *testing.T) {
	for _, name := range []string{"redis-benchmark", "processes", "http-cache", "kv-scale", "pgpool", "footprint", "many-caches", "near", "near-serve", "collections", "scripts", "pubsub", "wakeups", "notify"} {
		t.Run(name, func(t *testing.T) {
			o := tiny(t)
			o.Entries = 1000
			switch name {
			case "processes":
				o.Duration = time.Second // each of 8 processes must have an answer
			case "near", "near-serve", "collections", "http-cache":
				o.Duration = 500 * time.Millisecond // memory must have been filled
			}
			r, err := named(t, name).Do(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			checkResult(t, r)
			switch name {
			case "near":
				for _, series := range []string{nearGet, nearAppend} {
					if share := r.Value(nearHits, "1", series, fromMemory); share == 0 {
						t.Errorf("%s: memory answered nothing", series)
					}
				}
				if n := r.Value(nearHits, "1", nearAppend, allocations); n != 0 {
					t.Errorf("a hit by GetAppend allocates %g times", n)
				}
				for _, x := range nearShares {
					if share := r.Value(nearCPU, x.name, nearOn, fromMemory); share == 0 || share > 100*x.share+2 {
						t.Errorf("%s: memory answered %.1f %%", x.name, share)
					}
				}
			case "near-serve":
				for _, group := range []string{"GET", nearMixes[0].name, nearMixes[1].name} {
					if r.Value(group, "-P 16", servedNear, fromMemory) == 0 {
						t.Errorf("%s: memory answered nothing", group)
					}
				}
			case "collections":
				for _, name := range []string{"HGET", "HGETALL"} {
					if r.Value(name, clientCount(200), servedNear, fromMemory) < 50 {
						t.Errorf("%s: memory did not answer", name)
					}
				}
			case "http-cache":
				for _, mix := range httpMixes {
					if m, ok := r.Find(mix.name, httpCase, overHowdah, "hits"); ok == (mix.reads == 0) || ok && (m.Median() < 60 || m.Median() > 95) {
						t.Errorf("%s: hits were %.0f %% of the reads (measured: %t)", mix.name, m.Median(), ok)
					}
				}
			case "kv-scale":
				if haveStatements() && r.Value(kvReads, "1000", kvPostgres, kvServer) <= 0 {
					t.Error("the server's own time was not measured")
				}
			case "pgpool":
				if stale := r.Value(staleGroup, writePast, throughCache, staleRead); stale == 0 {
					t.Error("a write past pgpool-II was seen through its cache")
				}
				if n := r.Value(dropGroup, writeSimple, throughCache, dropped); n < 50 {
					t.Errorf("a write through pgpool-II dropped %.0f %% of its results", n)
				}
			}
		})
	}
}

// The loads of messages and of clients that wait, at redis-server.
func TestMessagesAndWakeUpsOfRedis(t *testing.T) {
	b, err := newBench(tiny(t))
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	server, err := b.Redis(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	l := messageLoad{to: server.Addr, from: server.Addr, channel: "c", publishers: 16, subscribers: 3, warmup: 10 * time.Millisecond, duration: time.Second}
	for _, l.rate = range []float64{0, 1000} {
		if d, err := l.run(t.Context(), newMeter()); err != nil || d.delivery.TotalCount() == 0 || l.rate > 0 && d.delivery.TotalCount() < 100 {
			t.Errorf("at a rate of %g: %d deliveries, %v", l.rate, d.delivery.TotalCount(), err)
		}
	}
	w := wakeLoad{to: server.Addr, from: server.Addr, warmup: 10 * time.Millisecond, duration: time.Second}
	for _, w.rate = range []float64{0, 200} {
		if s, latency, err := w.run(t.Context(), newMeter()); err != nil || s.Requests == 0 || latency.TotalCount() == 0 {
			t.Errorf("at a rate of %g: %d wake-ups, %v", w.rate, s.Requests, err)
		}
	}
	r := new(result.Result)
	if err := b.idle(t.Context(), r, served{servedRedis, server.Addr, []part{{"server", server.Process}}}); err != nil || r.Value(wakeIdle, "1000 clients", servedRedis, "server memory") <= 0 {
		t.Errorf("%+v, %v", r.Points, err)
	}
}
