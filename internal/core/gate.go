package core

import (
	"context"
	"sync"
	"sync/atomic"
)

// gate keeps what is begun on a partition in order while it moves to another server: what
// was sent to the former one begins again before what comes after it.
type gate struct {
	closed atomic.Bool
	mu     sync.Mutex
	queue  []func()
	late   bool // the map was not read since something was to begin again
}

// start begins something on a partition, and again after the map was read if it asks for
// that. again reports whether it will; it does not after too many times.
func (s *servers) start(partition int, begin func(again func() bool)) {
	g := &s.gates[partition]
	tries := 0
	var run func()
	run = func() {
		begin(func() bool {
			if tries++; tries > maxReroute {
				return false
			}
			g.close(s, run)
			return true
		})
	}
	if !g.closed.Load() || !g.wait(run) {
		run()
	}
}

// wait puts something in line, unless the gate is open.
func (g *gate) wait(run func()) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed.Load() {
		g.queue = append(g.queue, run)
	}
	return g.closed.Load()
}

// close puts something in line that is to begin again, and has the gate opened when the
// map was read.
func (g *gate) close(s *servers, run func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.queue, g.late = append(g.queue, run), true
	if !g.closed.Swap(true) {
		go g.open(s)
	}
}

// open begins what is in line, as often as it takes.
func (g *gate) open(s *servers) {
	for {
		g.mu.Lock()
		late, queue := g.late, g.queue
		switch {
		case late:
			g.late = false
		case len(queue) == 0:
			g.closed.Store(false)
			g.mu.Unlock()
			return
		default:
			g.queue = nil
		}
		g.mu.Unlock()
		if late {
			_ = s.reroute(context.Background()) // if it fails, so do the calls
			continue
		}
		for _, run := range queue {
			run()
		}
	}
}
