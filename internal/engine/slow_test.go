package engine

import (
	"testing"
	"time"

	"github.com/howdah/howdah/internal/coalesce"
	"github.com/howdah/howdah/internal/observe"
	"github.com/howdah/howdah/internal/statement"
	"github.com/howdah/howdah/internal/verb"
)

// TestSlowDividesTheTime: the parts are the whole, wherever a call has been.
func TestSlowDividesTheTime(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		slow                       Slow
		queued, statement, blocked time.Duration
	}{
		"sent at once":            {Slow{Began: 100, Sent: 100, Elapsed: 50}, 0, 50, 0},
		"waited, then sent":       {Slow{Began: 100, Sent: 130, Elapsed: 50}, 30, 20, 0},
		"never sent":              {Slow{Began: 100, Elapsed: 50}, 50, 0, 0},
		"met a lock":              {Slow{Began: 100, Sent: 130, Locked: true, Elapsed: 50}, 30, 0, 20},
		"waited behind a lock":    {Slow{Began: 100, Sent: 100, Locked: true, Elapsed: 50}, 0, 0, 50},
		"behind a lock, not sent": {Slow{Began: 100, Locked: true, Elapsed: 50}, 0, 0, 50},
		"joined what was sent":    {Slow{Began: 100, Sent: 90, Elapsed: 50}, 0, 50, 0},
		"left before it was sent": {Slow{Began: 100, Sent: 160, Elapsed: 50}, 50, 0, 0},
	} {
		got := c.slow.call()
		if got.Duration != 50 || got.Queued != c.queued || got.Statement != c.statement || got.Blocked != c.blocked {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// BenchmarkSlow is what a call pays for the log of slow calls: where it ends, and as one
// of several that a statement carries.
func BenchmarkSlow(b *testing.B) {
	for name, slow := range map[string]*observe.SlowLog{
		"off": observe.NewSlowLog(observe.SlowOff, nil, nil), "on": observe.NewSlowLog(100*time.Millisecond, nil, nil),
	} {
		e := &Engine{set: &Set{Options: Options{Slow: slow}}, counters: newCounters()}
		call := &verb.Call{Verb: statement.Get, Key: []byte("k")}
		b.Run("end/"+name, func(b *testing.B) {
			for b.Loop() {
				call.Began = coalesce.Now()
				e.record(call)
			}
		})
		for _, calls := range []int{1, 64} {
			request := &statement.Request{Rows: make([]statement.Row, calls)}
			for range calls {
				request.Calls = append(request.Calls, &verb.Call{Verb: statement.Get})
			}
			fl := &flight{Flight: kindFlight{}, set: e.set}
			b.Run("send/"+name+"/calls="+map[int]string{1: "1", 64: "64"}[calls], func(b *testing.B) {
				for b.Loop() {
					for _, c := range request.Calls {
						c.BeginTiming()
					}
					if fl.set.Slow.On() {
						fl.noteSent([]*statement.Request{request})
					}
				}
			})
		}
	}
}

// kindFlight is a flight of reads.
type kindFlight struct{ coalesce.Flight }

func (kindFlight) Kind() coalesce.Kind { return coalesce.Read }
