package core

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
)

// gate keeps what is begun on a partition in order while it moves to another server: what
// was sent to the former one ends, or begins again, before what comes after it.
type gate struct {
	closed  atomic.Bool
	begun   atomic.Uint64
	running atomic.Int64
	at      atomic.Pointer[DB] // where what is running was sent
	mu      sync.Mutex
	queue   []begun
	late    bool          // the map was not read since something was to begin again
	idle    chan struct{} // told while the gate is closed, when nothing is running
}

// begun is something in line, and when it was begun first: what fails together may be told
// so in any order.
type begun struct {
	number uint64
	run    func()
}

// start begins something on a partition, at the server that holds it, and again after the
// map was read if it ends there because the partition is elsewhere. end is called when it
// ends, and reports whether it begins again; it does not after too many times.
func (s *servers) start(partition int, begin func(at *DB, end func(elsewhere bool) (again bool))) {
	g := &s.gates[partition]
	own := begun{number: g.begun.Add(1)}
	tries := 0
	own.run = func() {
		begin(g.at.Load(), func(elsewhere bool) (again bool) {
			if elsewhere {
				if tries++; tries <= maxReroute {
					again = true
					g.line(s, partition, own, true)
				}
			}
			g.leave()
			return again
		})
	}
	g.running.Add(1)
	if !g.closed.Load() && g.at.Load() == s.holder(partition) {
		own.run()
		return
	}
	g.line(s, partition, own, false)
	g.leave()
}

// leave notes that something is not running any more.
func (g *gate) leave() {
	if g.running.Add(-1) == 0 && g.closed.Load() {
		select {
		case g.idle <- struct{}{}:
		default:
		}
	}
}

// line puts something in line, closes the gate and has it opened again.
func (g *gate) line(s *servers, partition int, b begun, late bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.queue, g.late = append(g.queue, b), g.late || late
	if g.idle == nil {
		g.idle = make(chan struct{}, 1)
	}
	if !g.closed.Swap(true) {
		go g.open(s, partition)
	}
}

// open begins what is in line, as often as it takes.
func (g *gate) open(s *servers, partition int) {
	for {
		g.mu.Lock()
		late, moved := g.late, g.at.Load() != s.holder(partition)
		if !late && !moved && len(g.queue) == 0 {
			g.closed.Store(false)
			g.mu.Unlock()
			return
		}
		var queue []begun
		if late || moved {
			g.late = false
		} else {
			queue, g.queue = g.queue, nil
		}
		g.mu.Unlock()
		if late || moved {
			for g.running.Load() != 0 {
				<-g.idle
			}
			if late {
				_ = s.reroute(context.Background()) // if it fails, so do the calls
			}
			g.at.Store(s.holder(partition))
			continue
		}
		slices.SortFunc(queue, func(a, b begun) int { return cmp.Compare(a.number, b.number) })
		for _, b := range queue {
			g.running.Add(1)
			b.run()
		}
	}
}
