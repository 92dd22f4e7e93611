package soak

import (
	"context"
	"time"

	"github.com/howdah/howdah/bench/internal/machine"
)

// watch looks at the lanes of a group.
type watch struct {
	lanes  []*lane
	start  time.Time
	last   time.Time
	times  machine.Times
	client float64
}

// newWatch takes the counters from which the first sample counts.
func newWatch(ctx context.Context, lanes []*lane) (*watch, error) {
	w := &watch{lanes: lanes}
	for _, l := range lanes {
		var err error
		if l.before, err = l.sampler.facts(ctx); err != nil {
			return nil, err
		}
		l.upkeep0 = l.upkeep()
		l.cpu = l.pg.Process.CPUSeconds()
	}
	w.times, _ = machine.ReadTimes()
	w.client = machine.Self().CPUSeconds()
	w.start = time.Now()
	w.last = w.start
	return w, nil
}

// sample notes what has happened since the last sample, and how things stand.
func (w *watch) sample(ctx context.Context) error {
	now := time.Now()
	elapsed := now.Sub(w.last).Seconds()
	if elapsed < 0.5 {
		return nil // nothing to divide by
	}
	middle := now.Sub(w.start).Seconds() - elapsed/2
	w.last = now
	tallies := make([]*tally, len(w.lanes))
	used := make([]float64, len(w.lanes))
	times, _ := machine.ReadTimes()
	client := machine.Self().CPUSeconds()
	ours := client - w.client
	for i, l := range w.lanes {
		tallies[i] = l.recorder.take()
		cpu := l.pg.Process.CPUSeconds()
		used[i], l.cpu = cpu-l.cpu, cpu
		ours += used[i]
	}
	others := 100 * machine.Busy(w.times, times, ours)
	clients := (client - w.client) / elapsed
	w.times, w.client = times, client
	for i, l := range w.lanes {
		l.run.At = append(l.run.At, float64(int(10*now.Sub(w.start).Seconds()))/10)
		l.note(tallies[i], elapsed, middle)
		l.run.add(databaseCPU, used[i]/elapsed)
		l.run.add(clientCPU, clients)
		l.run.add(othersCPU, others)
		if err := l.look(ctx, elapsed); err != nil {
			return err
		}
	}
	w.report(now)
	return nil
}

// note takes what the callers saw.
func (l *lane) note(t *tally, elapsed, middle float64) {
	l.run.Errors += t.errors
	l.run.add(answersRate, float64(t.answered())/elapsed)
	l.run.add(errorsCount, float64(t.errors))
	l.run.add(hitShare, percent(t.hits, t.hits+t.misses))
	for k, h := range t.latency {
		p := percentilesOf(h)
		l.run.add(latencySeries(kindNames[k], "p50"), p.P50)
		l.run.add(latencySeries(kindNames[k], "p99"), p.P99)
		l.run.add(latencySeries(kindNames[k], "p99.9"), p.P999)
		for i, w := range l.run.Windows {
			if w.From <= middle && middle < w.To {
				l.windows[i].latency[k].Merge(h)
			}
		}
	}
}

// look takes what the database says.
func (l *lane) look(ctx context.Context, elapsed float64) error {
	f, err := l.sampler.facts(ctx)
	if err != nil {
		return err
	}
	before := l.before
	l.before = f
	u := l.upkeep()
	did := upkeepWork{u.rounds - l.upkeep0.rounds, u.expired - l.upkeep0.expired, u.evicted - l.upkeep0.evicted}
	l.upkeep0 = u
	const mb = 1e6
	for name, value := range map[string]float64{
		heapMB: float64(f.Heap) / mb, indexMB: float64(f.Index) / mb, freeMB: float64(f.Free) / mb,
		sizeMB:   float64(f.Heap+f.Index) / mb,
		liveRows: float64(f.Live), deadRows: float64(f.Dead), expiredRows: float64(f.Expired),
		entries: float64(f.Entries), budgetShare: percent(f.Bytes, l.config.budget()),
		hotShare:    percent(f.HotUpdates-before.HotUpdates, f.Updates-before.Updates),
		updatesRate: float64(f.Updates-before.Updates) / elapsed,
		walRate:     float64(f.WAL-before.WAL) / 1000 / elapsed,
		xidRate:     float64(f.XID-before.XID) / elapsed,
		autovacuums: float64(f.Autovacuums), vacuums: float64(f.Vacuums),
		upkeepRound: float64(did.rounds) / elapsed, expiredRate: float64(did.expired) / elapsed,
		evictedRate: float64(did.evicted) / elapsed,
		xminAge:     float64(f.OldestXmin), connections: float64(f.Connections),
	} {
		l.run.add(name, value)
	}
	return nil
}

// report says on the terminal how things stand, twice a minute.
func (w *watch) report(now time.Time) {
	if c := w.lanes[0].config; now.Sub(w.start)%(30*time.Second) >= c.Every {
		return
	}
	for _, l := range w.lanes {
		last := func(name string) float64 { v := l.run.Series[name]; return v[len(v)-1] }
		l.config.Progress("%5s  %-16s %5.0f answers/s  hits %3.0f %%  p99 read %6.2f ms, set %6.2f ms  %6.1f MB  %7.0f dead  budget %5.1f %%  %d errors",
			now.Sub(w.start).Round(time.Second), l.name(), last(answersRate), last(hitShare), last(latencySeries(kindNames[read], "p99")),
			last(latencySeries(kindNames[set], "p99")), last(sizeMB), last(deadRows), last(budgetShare), l.run.Errors)
	}
}

func percent(part, whole int64) float64 {
	if whole == 0 {
		return 0
	}
	return 100 * float64(part) / float64(whole)
}
