// Driver calls the library as fast as it can and prints what it reached. The
// command compare builds it inside each of two source trees, so it uses only
// the standard library and what every version of Howdah has: Open, Cache, Get
// and Set.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/howdah/howdah"
)

var (
	url      = flag.String("url", "", "database")
	verb     = flag.String("verb", "GET", "GET, SET, or LOAD, which stores every key once")
	callers  = flag.Int("callers", 64, "goroutines")
	keys     = flag.Int("keys", 100_000, "how many")
	size     = flag.Int("size", 250, "bytes of a value")
	warmup   = flag.Duration("warmup", 300*time.Millisecond, "not measured")
	duration = flag.Duration("duration", time.Second, "measured")
)

func main() {
	flag.Parse()
	ctx := context.Background()
	db, err := howdah.Open(ctx, *url, &howdah.Options{Timeout: 10 * time.Second})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	d := &driver{cache: db.Cache("compare")}
	for i := range *keys {
		d.keys = append(d.keys, fmt.Sprintf("key:%012d", i))
	}
	if *verb == "LOAD" {
		d.load(ctx)
		return
	}
	if err := json.NewEncoder(os.Stdout).Encode(d.run(ctx)); err != nil {
		log.Fatal(err)
	}
}

type driver struct {
	cache *howdah.Cache
	keys  []string
	phase atomic.Int32 // 0 warming up, 1 measuring, 2 done
}

// load stores every key.
func (d *driver) load(ctx context.Context) {
	var wg sync.WaitGroup
	for w := range *callers {
		wg.Go(func() {
			for i := w; i < len(d.keys); i += *callers {
				d.call(ctx, "SET", d.keys[i], value(i))
			}
		})
	}
	wg.Wait()
}

func value(seed int) []byte {
	v := make([]byte, *size)
	rng := rand.New(rand.NewPCG(uint64(seed), 1))
	for i := range v {
		v[i] = byte(rng.Uint32())
	}
	return v
}

// call ends the program if it fails, or if a key is missing.
func (d *driver) call(ctx context.Context, verb, key string, v []byte) {
	var err error
	if verb == "GET" {
		v, err = d.cache.Get(ctx, key)
	} else {
		err = d.cache.Set(ctx, key, v, howdah.NoExpiry)
	}
	if err == nil && len(v) != *size {
		err = fmt.Errorf("the value has %d bytes, not %d", len(v), *size)
	}
	if err != nil {
		log.Fatalf("%s %s: %v", verb, key, err)
	}
}

// figures are what one run reached.
type figures struct {
	Rate   float64 // calls a second
	Allocs float64 // allocations a call, those of the library
}

// run warms up only when every caller has had its first answer: until then
// connections are made and statements prepared.
func (d *driver) run(ctx context.Context) figures {
	var wg, begun sync.WaitGroup
	var calls atomic.Int64
	begun.Add(*callers)
	for w := range *callers {
		v := value(w)
		rng := rand.New(rand.NewPCG(uint64(w), 2))
		wg.Go(func() {
			n := int64(0)
			d.call(ctx, *verb, d.keys[rng.IntN(len(d.keys))], v)
			begun.Done()
			for d.phase.Load() < 2 {
				d.call(ctx, *verb, d.keys[rng.IntN(len(d.keys))], v)
				if d.phase.Load() == 1 {
					n++
				}
			}
			calls.Add(n)
		})
	}
	begun.Wait()
	time.Sleep(*warmup)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	d.phase.Store(1)
	time.Sleep(*duration)
	d.phase.Store(2)
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	wg.Wait()
	n := float64(calls.Load())
	if n == 0 {
		log.Fatalf("no call ended within %v", *duration)
	}
	return figures{Rate: n / took.Seconds(), Allocs: float64(after.Mallocs-before.Mallocs) / n}
}
