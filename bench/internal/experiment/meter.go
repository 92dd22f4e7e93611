package experiment

import (
	"github.com/howdah/howdah/bench/internal/machine"
	"github.com/howdah/howdah/bench/internal/measure"
	"github.com/howdah/howdah/bench/internal/result"
)

// Names of metrics that several experiments have.
const (
	throughput = "throughput"
	p50        = "p50"
	p99        = "p99"
	p999       = "p99.9"
	batchSize  = "keys a statement"
	perSecond  = "/s"
	ms         = "ms"
)

// part is a process whose CPU is reported apart.
type part struct {
	name    string // client, server or database
	process machine.Process
}

func client() part                    { return part{"client", machine.Self()} }
func server(p machine.Process) part   { return part{"server", p} }
func database(p machine.Process) part { return part{"database", p} }
func (p part) seconds() float64       { return p.process.CPUSeconds() }
func (p part) known() bool            { return p.process.PID > 0 }

// meter takes CPU seconds between the beginning and the end of a measurement.
type meter struct {
	parts         []part
	before, after []float64
}

func newMeter(parts ...part) *meter {
	m := &meter{}
	for _, p := range parts {
		if p.known() {
			m.parts = append(m.parts, p)
		}
	}
	return m
}

func (m *meter) begin()  { m.before = m.read() }
func (m *meter) finish() { m.after = m.read() }

func (m *meter) read() []float64 {
	out := make([]float64, len(m.parts))
	for i, p := range m.parts {
		out[i] = p.seconds()
	}
	return out
}

// add notes CPU seconds per million requests for each part.
func (m *meter) add(r *result.Result, group, which, series string, requests int64) {
	for i, p := range m.parts {
		used := m.after[i] - m.before[i]
		r.Add(group, which, series, p.name+" CPU", "s per million", used/float64(requests)*1e6)
	}
}

// attach lets the meter run while a load is measured.
func (m *meter) attach(l measure.Load) measure.Load {
	l.Begin, l.End = m.begin, m.finish
	return l
}

// compareAs appends a ratio of what should be low, under a label of its own: a
// group has other ratios already.
func compareAs(r *result.Result, label, group, which, metric, of, to string, most float64) {
	if rounds := r.RatioOf(group, which, metric, of, to); rounds != nil {
		r.Ratios = append(r.Ratios, result.Ratio{Group: label, Case: which, Of: of, To: to, Rounds: rounds, Target: most, AtMost: true})
	}
}

// addClosed notes throughput and latencies of a closed loop.
func addClosed(r *result.Result, group, which, series string, s measure.Sample) {
	r.Add(group, which, series, throughput, perSecond, s.Rate())
	r.Add(group, which, series, p50, ms, s.Milliseconds(50))
	r.Add(group, which, series, p99, ms, s.Milliseconds(99))
}

// noteClosed notes what a closed loop measured, and what it cost, and says so.
func (b *Bench) noteClosed(r *result.Result, m *meter, group, which, series string, s measure.Sample) {
	addClosed(r, group, which, series, s)
	m.add(r, group, which, series, s.Requests)
	b.Progress("%-24s %-12s %-28s %9.0f/s  p99 %.2f ms", group, which, series, s.Rate(), s.Milliseconds(99))
}

// addOpen notes the latencies of an open loop, and how much of them passed
// before the requests were begun.
func addOpen(r *result.Result, group, which, series string, s measure.Sample) {
	r.Add(group, which, series, p99, ms, s.Milliseconds(99))
	r.Add(group, which, series, p50, ms, s.Milliseconds(50))
	r.Add(group, which, series, p999, ms, s.Milliseconds(99.9))
	if s.Late != nil { // not known of pgbench
		r.Add(group, which, series, "begun late, p99", ms, float64(s.Late.ValueAtPercentile(99))/1e6)
	}
}
