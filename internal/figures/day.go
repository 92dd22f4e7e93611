package figures

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/howdah/howdah/internal/core"
)

// Bounds of the day that a process remembers.
const (
	DayPoints = 24 * 60                 // one a minute
	DayBytes  = DayPoints * minuteBytes // that they take, 126,720

	minuteBytes = 88
)

// Minute is what this process did in one minute. A null is not known: nothing was called, or there is no
// listener for Redis clients.
type Minute struct {
	At      time.Time `json:"at"`      // the end of the minute, by the clock of this process
	Seconds float64   `json:"seconds"` // 60, and more where the process was held up
	Rates
	Reads       float64 `json:"reads"`       // calls a second that change nothing
	Writes      float64 `json:"writes"`      // the other calls a second
	Expired     float64 `json:"expired"`     // entries a second that upkeep of this process removed because they had expired
	Evicted     float64 `json:"evicted"`     // those that it removed for a budget
	Clients     *int64  `json:"clients"`     // Redis connections at the end of the minute
	Connections int64   `json:"connections"` // to PostgreSQL, at the end of the minute
}

// Follows says whether no time is missing between the minute before and m.
func (m *Minute) Follows(before *Minute) bool {
	return m.At.Sub(before.At).Seconds() < 1.5*m.Seconds+1
}

// minute is a Minute as it is kept: without pointers, NaN and -1 are not known.
type minute struct {
	at                              int64 // milliseconds since 1970
	seconds, errors, hit, p50, p99  float64
	reads, writes, expired, evicted float64
	clients, connections            int32
}

// shown is the minute for those who ask.
func (m *minute) shown() Minute {
	known := func(value float64) *float64 {
		if math.IsNaN(value) {
			return nil
		}
		return &value
	}
	shown := Minute{
		At: time.UnixMilli(m.at).UTC(), Seconds: m.seconds,
		Rates: Rates{Calls: m.reads + m.writes, Errors: m.errors, Hit: known(m.hit), P50: known(m.p50), P99: known(m.p99)},
		Reads: m.reads, Writes: m.writes, Expired: m.expired, Evicted: m.evicted, Connections: int64(m.connections),
	}
	if m.clients >= 0 {
		clients := int64(m.clients)
		shown.Clients = &clients
	}
	return shown
}

// day keeps the minutes of the last day, in a ring of fixed size.
type day struct {
	interval time.Duration
	count    func() totals

	mu      sync.Mutex
	since   time.Time // when the process began to record; zero: it does not
	kept    [DayPoints]minute
	written int // minutes since then; the last one is before kept[written % DayPoints]
}

// totals are what a process has counted since its start, and what it has now.
type totals struct {
	calls                counts // of all caches
	expired, evicted     uint64
	clients, connections int32 // clients: -1 is not known
}

// totalsOf counts in memory: it asks PostgreSQL nothing. A nil clients says that there is no listener.
func totalsOf(db *core.DB, clients func() int) totals {
	stats := db.Stats()
	found := totals{expired: stats.Upkeep.Expired, evicted: stats.Upkeep.Evicted, clients: -1, connections: stats.Pool.Total}
	for _, c := range countsOf(stats) {
		found.calls.add(c)
	}
	if clients != nil {
		found.clients = int32(clients())
	}
	return found
}

// Record remembers, once a minute, what this process has done, until ctx is done or Figures is closed. It reads
// counters in memory only: PostgreSQL is asked nothing, whether anybody looks or not. One call at a time.
func (f *Figures) Record(ctx context.Context) {
	began, before := time.Now(), f.day.count()
	f.day.mu.Lock()
	f.day.since = began
	f.day.mu.Unlock()
	ticker := time.NewTicker(f.day.interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.closed.Done():
			return
		case <-ticker.C:
		}
		now, counted := time.Now(), f.day.count()
		f.day.keep(now, now.Sub(began), &counted, &before)
		began, before = now, counted
	}
}

// keep adds a minute, which takes the place of the oldest one once a day is full.
func (d *day) keep(at time.Time, length time.Duration, now, before *totals) {
	seconds := length.Seconds()
	aSecond := func(now, before uint64) float64 { return float64(grown(now, before)) / seconds }
	rates := now.calls.rates(before.calls, seconds)
	reads := aSecond(now.calls.reads, before.calls.reads)
	kept := minute{
		at: at.UnixMilli(), seconds: seconds, errors: rates.Errors,
		hit: orNaN(rates.Hit), p50: orNaN(rates.P50), p99: orNaN(rates.P99),
		reads: reads, writes: max(0, rates.Calls-reads),
		expired: aSecond(now.expired, before.expired), evicted: aSecond(now.evicted, before.evicted),
		clients: now.clients, connections: now.connections,
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.kept[d.written%DayPoints] = kept
	d.written++
}

func orNaN(value *float64) float64 {
	if value == nil {
		return math.NaN()
	}
	return *value
}

// Day returns what this process did in each minute of the last day, the oldest first, and since when it
// records; zero: it does not. It asks nothing.
func (f *Figures) Day() (minutes []Minute, since time.Time) {
	d := &f.day
	d.mu.Lock()
	defer d.mu.Unlock()
	minutes = make([]Minute, 0, min(d.written, DayPoints))
	for i := max(0, d.written-DayPoints); i < d.written; i++ {
		minutes = append(minutes, d.kept[i%DayPoints].shown())
	}
	return minutes, d.since
}
