package server

import (
	"context"
	"log/slog"
	"runtime"
	"time"
)

// processors decides how many processors (GOMAXPROCS) the process uses: as few
// as do its work.
//
// Serving Redis clients is a chain of small steps: the loop reads, a flight
// asks PostgreSQL, the loop writes. On one processor the steps follow each
// other, and what arrives meanwhile shares a statement; on several each step
// wakes a sleeping thread, on a processor that PostgreSQL or the client could
// use. HTTP and TLS are work that more processors do faster.
type processors struct {
	most  int // what Go would use
	now   int
	quiet int // looks in succession at which fewer would have been enough
}

const (
	// processorsEvery is how often the load is looked at.
	processorsEvery = 500 * time.Millisecond
	// processorsFull is the load of each processor from which another one is
	// taken, at once; one is given back when the others would have had less
	// for so many looks in succession. Redis clients keep two processors busier
	// than one: 0.8 and 0.7 for the same load. A lower bound on the way down
	// would keep a processor that was taken for something else.
	processorsFull  = 0.9
	processorsQuiet = 10
)

// next takes the number of processors that were busy, on average, since the
// last look.
func (p *processors) next(busy float64) int {
	switch {
	case busy > processorsFull*float64(p.now) && p.now < p.most:
		p.now++
		p.quiet = 0
	case p.now > 1 && busy < processorsFull*float64(p.now-1):
		if p.quiet++; p.quiet == processorsQuiet {
			p.now--
			p.quiet = 0
		}
	default:
		p.quiet = 0
	}
	return p.now
}

// followLoad gives the process the processors it needs until ctx ends, and
// then all of them. It does nothing where the time of a process cannot be
// asked for.
func followLoad(ctx context.Context, log *slog.Logger) {
	last, ok := cpuTime()
	if !ok {
		return
	}
	p := &processors{most: runtime.GOMAXPROCS(0), now: 1}
	defer runtime.GOMAXPROCS(p.most)
	runtime.GOMAXPROCS(p.now)
	ticker := time.NewTicker(processorsEvery)
	defer ticker.Stop()
	began := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := time.Now()
		if now.Sub(began) < processorsEvery/2 { // the last look was late
			continue
		}
		used, _ := cpuTime()
		before, busy := p.now, float64(used-last)/float64(now.Sub(began))
		last, began = used, now
		if p.next(busy) != before {
			runtime.GOMAXPROCS(p.now)
			log.Debug("processors", "in_use", p.now, "most", p.most, "busy", busy)
		}
	}
}
