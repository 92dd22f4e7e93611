package figures

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/engine"
	"github.com/howdah/howdah/internal/stat"
	"github.com/howdah/howdah/internal/statement"
)

// Bounds of the history.
const (
	MaxHistory      = 150 // points: five minutes, two seconds apart
	maxPointCaches  = 64  // caches in a point
	longestInterval = time.Minute
	historySpan     = 5 * time.Minute
)

// Point is what happened between two readings of the report, which ended at At.
type Point struct {
	At      time.Time             `json:"at"` // by the clock of this process
	Seconds float64               `json:"seconds"`
	Process Rates                 `json:"process"` // of this process, on all caches
	Caches  map[string]CachePoint `json:"caches"`  // at most 64; those that this process uses come first, by name
}

// Rates are what this process did a second. A null is not known: nothing was called.
type Rates struct {
	Calls  float64  `json:"calls"`
	Errors float64  `json:"errors"`
	Hit    *float64 `json:"hit"` // share of the keys that reads found
	P50    *float64 `json:"p50"` // seconds, the upper bound of half of the calls, in powers of two
	P99    *float64 `json:"p99"`
}

// CachePoint is one cache in a Point.
type CachePoint struct {
	Process Rates `json:"process"` // of this process
	// Of all processes, by PostgreSQL's statistics; null: not known.
	Reads   *float64 `json:"reads"`
	Writes  *float64 `json:"writes"`
	Entries *int64   `json:"entries"`
}

// observer makes reports and points of what it saw before and sees now.
type observer struct {
	db *core.DB

	// Of the reading before; used by one reading at a time.
	snapshot *stat.Snapshot
	counts   map[string]counts // by cache
	counted  time.Time

	mu     sync.Mutex
	points []Point // oldest first
}

// counts are what a process counted of one cache.
type counts struct {
	calls, errors uint64
	reads         uint64 // of the calls, those that change nothing
	hits, misses  uint64 // of reads
	latency       engine.Histogram
}

// read makes the report of now and of the reading before.
func (o *observer) read(ctx context.Context, conn *pgx.Conn) (*stat.Report, error) {
	now, err := stat.Read(ctx, conn, serversOf(o.db)...)
	if err != nil {
		return nil, err
	}
	before := o.snapshot
	if before != nil && now.At.Sub(before.At) > longestInterval {
		before = nil // the rates would be those of another time
	}
	o.snapshot = now
	return stat.Compare(before, now, o.hits()), nil
}

// hits are the shares that the reads of this process found since the point before.
func (o *observer) hits() map[string]float64 {
	before, now := make(stat.Hits), make(stat.Hits)
	for cache, c := range o.counts {
		before[cache] = [2]float64{float64(c.hits), float64(c.misses)}
	}
	for cache, c := range countsOf(o.db.Stats()) {
		now[cache] = [2]float64{float64(c.hits), float64(c.misses)}
	}
	return stat.HitShares([]stat.Hits{before}, []stat.Hits{now})
}

// note adds a point to the history.
func (o *observer) note(report *stat.Report, _ error) {
	before, since := o.counts, o.counted
	o.counts, o.counted = countsOf(o.db.Stats()), time.Now()
	seconds := o.counted.Sub(since).Seconds()
	if before == nil || o.counted.Sub(since) > longestInterval {
		return
	}
	point := Point{At: o.counted, Seconds: seconds, Caches: make(map[string]CachePoint)}
	var all, allBefore counts
	for _, cache := range slices.Sorted(maps.Keys(o.counts)) {
		now, then := o.counts[cache], before[cache]
		all.add(now)
		allBefore.add(then)
		if len(point.Caches) < maxPointCaches {
			point.Caches[cache] = CachePoint{Process: now.rates(then, seconds)}
		}
	}
	point.Process = all.rates(allBefore, seconds)
	if report != nil {
		point.report(report)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	kept := recent(o.points, o.counted)
	kept = kept[max(0, len(kept)-MaxHistory+1):]
	o.points = append(kept[:len(kept):len(kept)], point)
}

// report adds what PostgreSQL says of the caches.
func (p *Point) report(r *stat.Report) {
	for i := range r.Tables {
		row := &r.Tables[i]
		found, there := p.Caches[row.Name]
		if row.Sessions || !there && len(p.Caches) >= maxPointCaches {
			continue
		}
		found.Reads, found.Writes, found.Entries = row.Reads, row.Writes, &row.Entries
		p.Caches[row.Name] = found
	}
}

func (o *observer) history(now time.Time) []Point {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]Point{}, recent(o.points, now)...)
}

// recent are the points that are not older than the history goes back.
func recent(points []Point, now time.Time) []Point {
	for len(points) > 0 && now.Sub(points[0].At) > historySpan {
		points = points[1:]
	}
	return points
}

// Begins says whether nobody looked between the point before and p.
func (p *Point) Begins(before *Point) bool {
	began := p.At.Add(-time.Duration(p.Seconds * float64(time.Second)))
	return began.Sub(before.At) > time.Second
}

// countsOf sums up the verbs of each cache.
func countsOf(stats core.Stats) map[string]counts {
	all := make(map[string]counts)
	for _, cache := range stats.Caches {
		var c counts
		for _, v := range cache.Verbs {
			found := counts{calls: v.Calls, errors: v.Errors, latency: v.Latency}
			if statement.OnlyReads(v.Verb) {
				found.reads, found.hits, found.misses = v.Calls, v.Hits, v.Misses
			}
			c.add(found)
		}
		all[cache.Name] = c
	}
	return all
}

func (c *counts) add(other counts) {
	c.calls += other.calls
	c.errors += other.errors
	c.reads += other.reads
	c.hits += other.hits
	c.misses += other.misses
	if len(c.latency.Counts) == 0 { // nothing was added yet, or only caches that are new
		c.latency = engine.Histogram{Bounds: other.latency.Bounds, Counts: make([]uint64, len(other.latency.Counts))}
	}
	for i, n := range other.latency.Counts {
		c.latency.Counts[i] += n
	}
}

// rates are what was counted since before.
func (c counts) rates(before counts, seconds float64) Rates {
	r := Rates{Calls: float64(grown(c.calls, before.calls)) / seconds, Errors: float64(grown(c.errors, before.errors)) / seconds}
	if hits, misses := grown(c.hits, before.hits), grown(c.misses, before.misses); hits+misses > 0 {
		hit := float64(hits) / float64(hits+misses)
		r.Hit = &hit
	}
	added := engine.Histogram{Bounds: c.latency.Bounds, Counts: make([]uint64, len(c.latency.Counts))}
	for i, n := range c.latency.Counts {
		added.Counts[i] = n
		if i < len(before.latency.Counts) {
			added.Counts[i] = grown(n, before.latency.Counts[i])
		}
		added.Count += added.Counts[i]
	}
	r.P50, r.P99 = added.Quantile(0.5), added.Quantile(0.99)
	return r
}

// grown is what a counter has grown by. A sum over several servers shrinks when one of them leaves: nothing is
// known of that time then.
func grown(now, before uint64) uint64 {
	if now < before {
		return 0
	}
	return now - before
}
