package coalesce

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

// modelWorker is one caller of the model.
type modelWorker struct {
	c      *Coalescer
	tables []*Table
	s      *store
	id     int
	rng    *rand.Rand
}

// work submits calls one after the other: mostly without waiting for the
// answer (Start), sometimes waiting (Do, Exclusive).
func (m *modelWorker) work(calls int) []*entry {
	log := make([]*entry, 0, calls)
	var mu sync.Mutex
	free := []*Op{}
	window := make(chan struct{}, 8)
	for i := range calls {
		e := m.entry(i + 1)
		if m.rng.IntN(40) == 0 {
			ctx, cancel := m.context()
			_ = m.tables[e.table].Exclusive(ctx, e.keys, func(context.Context) error {
				m.s.tables[e.table].enter(m.s.t, e.keys, false)
				pause()
				m.s.tables[e.table].exit(e.keys, false)
				return nil
			})
			cancel()
			continue
		}
		log = append(log, e)
		mu.Lock()
		op := &Op{}
		if n := len(free); n > 0 {
			op, free = free[n-1], free[:n-1]
		}
		mu.Unlock()
		m.fill(op, e)
		e.floor = m.s.floor(e)
		if m.rng.IntN(4) == 0 {
			ctx, cancel := m.context()
			err := m.c.Do(ctx, op)
			cancel()
			m.s.end(e, err)
			clear(e.payload) // a race if Run still reads it
			if !errors.Is(err, ErrSent) {
				mu.Lock()
				free = append(free, op)
				mu.Unlock()
			}
			continue
		}
		window <- struct{}{}
		m.c.Start(op, func(op *Op, err error) {
			m.s.end(e, err)
			clear(e.payload)
			mu.Lock()
			free = append(free, op)
			mu.Unlock()
			<-window
		})
	}
	for range cap(window) {
		window <- struct{}{}
	}
	return log
}

func (m *modelWorker) entry(number int) *entry {
	e := &entry{worker: m.id, number: number, table: m.rng.IntN(modelTables), kind: Kind(m.rng.IntN(3)), payload: []byte("payload")}
	n := 1
	if m.rng.IntN(5) == 0 {
		n = 1 + m.rng.IntN(modelMaxKeys+2)
	}
	for range n {
		k := m.rng.IntN(modelKeys)
		if m.rng.IntN(2) == 0 {
			k = 0 // a hot key
		}
		e.keys = append(e.keys, uint64(k))
	}
	return e
}

func (m *modelWorker) fill(op *Op, e *entry) {
	op.Table, op.Kind, op.Call = m.tables[e.table], e.kind, e
	if len(e.keys) == 1 {
		op.SetKey(e.keys[0])
	} else {
		op.Keys = e.keys
	}
	op.Class = uint8(m.rng.IntN(2))
	op.Echo = m.rng.IntN(4) > 0
	op.Bytes = m.rng.IntN(modelBytes / 3)
	if m.rng.IntN(100) == 0 {
		op.Bytes *= 5
	}
	op.Deadline = 0
	switch m.rng.IntN(10) {
	case 0:
		op.Deadline = in(time.Duration(m.rng.IntN(1000)) * time.Microsecond)
	case 1, 2, 3, 4:
		op.Deadline = in(time.Second)
	}
}

func (m *modelWorker) context() (context.Context, context.CancelFunc) {
	d := time.Duration(m.rng.IntN(1000)) * time.Microsecond
	switch m.rng.IntN(4) {
	case 0:
		return context.WithTimeout(background, d)
	case 1:
		ctx, cancel := context.WithCancel(background)
		timer := time.AfterFunc(d, cancel)
		return ctx, func() {
			timer.Stop()
			cancel()
		}
	}
	return background, func() {}
}

// floor is what was acknowledged of the keys of a call that begins now.
func (s *store) floor(e *entry) (floor []snapshot) {
	for _, k := range e.keys {
		r := &s.tables[e.table].keys[k]
		r.mu.Lock()
		floor = append(floor, r.acked)
		r.mu.Unlock()
	}
	return floor
}

// end takes the outcome of a call.
func (s *store) end(e *entry, err error) {
	e.err = err
	e.answers.Add(1)
	if e.kind == Read || err != nil {
		return
	}
	for _, k := range e.keys {
		r := &s.tables[e.table].keys[k]
		r.mu.Lock()
		r.acked[e.worker] = max(r.acked[e.worker], e.number)
		r.mu.Unlock()
	}
}

// checkEntry checks what one call says of itself and names its outcome.
func checkEntry(t *testing.T, e *entry) string {
	if n := e.answers.Load(); n != 1 {
		t.Errorf("call %d of worker %d was answered %d times", e.number, e.worker, n)
	}
	if e.left.Load() && !errors.Is(e.err, ErrSent) {
		t.Errorf("call %d of worker %d had left its flight but ended with %v", e.number, e.worker, e.err)
	}
	_, panicked := errors.AsType[*PanicError](e.err)
	switch applied := e.applied.Load(); {
	case e.err == nil:
		if !applied {
			t.Errorf("call %d of worker %d succeeded without effect", e.number, e.worker)
		}
		return "ok"
	case errors.Is(e.err, ErrNotSent):
		if applied {
			t.Errorf("call %d of worker %d had an effect but ended with %v", e.number, e.worker, e.err)
		}
		return "not sent"
	case errors.Is(e.err, ErrSent):
		return "sent"
	case e.err == errUnknown:
		return "unknown"
	case e.err == errStatement, panicked:
		if applied {
			t.Errorf("call %d of worker %d had an effect but ended with %v", e.number, e.worker, e.err)
		}
		return "failed"
	}
	t.Errorf("call %d of worker %d ended with %v", e.number, e.worker, e.err)
	return "?"
}

// checkWorker checks that each read observed exactly the last of the worker's
// earlier writes that had an effect, and every write that was acknowledged before
// the read began.
func checkWorker(t *testing.T, log []*entry) {
	var last [modelTables][modelKeys]int
	for _, e := range log {
		for i, k := range e.keys {
			switch {
			case e.kind != Read:
				if e.applied.Load() {
					last[e.table][k] = e.number
				}
			case e.err == nil:
				if own := e.observed[i][e.worker]; own != last[e.table][k] {
					t.Errorf("read %d of worker %d on key %d observed its write %d, not %d",
						e.number, e.worker, k, own, last[e.table][k])
				}
				for other, floor := range e.floor[i] {
					if e.observed[i][other] < floor {
						t.Errorf("read %d of worker %d on key %d observed write %d of worker %d, after %d was acknowledged",
							e.number, e.worker, k, e.observed[i][other], other, floor)
					}
				}
			}
		}
	}
}
