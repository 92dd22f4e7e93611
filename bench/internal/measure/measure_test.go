package measure

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestClosedCountsWhatWasMeasured(t *testing.T) {
	var began, ended atomic.Int32
	s, err := Closed(t.Context(), Load{
		Workers: 4, Warmup: 20 * time.Millisecond, Duration: 200 * time.Millisecond,
		Do:    func(context.Context, int) error { time.Sleep(5 * time.Millisecond); return nil },
		Begin: func() { began.Add(1) }, End: func() { ended.Add(1) },
	})
	if err != nil {
		t.Fatal(err)
	}
	// Each worker may have had a request on its way as the measured time began.
	if most := 4*int64(s.Elapsed/(5*time.Millisecond)) + 4; s.Requests < 1 || s.Requests > most {
		t.Errorf("4 workers at 5 ms made %d requests in %v", s.Requests, s.Elapsed)
	}
	if s.Latency.TotalCount() != s.Requests {
		t.Errorf("%d latencies of %d requests", s.Latency.TotalCount(), s.Requests)
	}
	if ms := s.Milliseconds(50); ms < 5 {
		t.Errorf("the median is %v ms, below what the request sleeps", ms)
	}
	if began.Load() != 1 || ended.Load() != 1 {
		t.Errorf("Begin was called %d times, End %d", began.Load(), ended.Load())
	}
}

// A request that outlasts the measured time is waited for, and counts.
func TestClosedWaitsForItsFirstAnswer(t *testing.T) {
	answer := make(chan struct{})
	s, err := Closed(t.Context(), Load{
		Workers: 1,
		Do:      func(context.Context, int) error { <-answer; return nil },
		Begin:   func() { time.AfterFunc(50*time.Millisecond, func() { close(answer) }) },
		End: func() {
			select {
			case <-answer:
			default:
				t.Error("the measured time ended before the answer")
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if s.Requests == 0 {
		t.Error("the request does not count")
	}
}

func TestFirstErrorEnds(t *testing.T) {
	broken := errors.New("broken")
	load := Load{Workers: 8, Duration: time.Minute, Do: func(_ context.Context, w int) error {
		if w == 3 {
			return broken
		}
		time.Sleep(time.Millisecond)
		return nil
	}}
	if _, err := Closed(t.Context(), load); !errors.Is(err, broken) {
		t.Errorf("closed: %v", err)
	}
	load.Do = func(context.Context, int) error { return broken }
	if _, err := Open(t.Context(), load, 1000); !errors.Is(err, broken) {
		t.Errorf("open: %v", err)
	}
}

// A stall must count for every request that was due while it lasted: that is
// the whole point of an open loop.
func TestOpenHasNoCoordinatedOmission(t *testing.T) {
	const stall = 300 * time.Millisecond
	var made atomic.Int64
	load := Load{Workers: 1, Duration: time.Second, Do: func(context.Context, int) error {
		if made.Add(1) == 100 {
			time.Sleep(stall)
		}
		return nil
	}}
	s, err := Open(t.Context(), load, 500)
	if err != nil {
		t.Fatal(err)
	}
	// 150 of the 500 requests were due in the stall, and half of those waited
	// longer than half of it.
	if ms := s.Milliseconds(90); ms < 50 {
		t.Errorf("p90 is %.1f ms: the stall of %v was counted for few", ms, stall)
	}
	if s.Requests != 500 || s.Latency.TotalCount() != 500 {
		t.Errorf("%d requests, %d latencies, want 500", s.Requests, s.Latency.TotalCount())
	}
}

func TestOpenHoldsItsRate(t *testing.T) {
	s, err := Open(t.Context(), Load{Workers: 16, Warmup: 100 * time.Millisecond, Duration: 500 * time.Millisecond,
		Do: func(context.Context, int) error { return nil }}, 2000)
	if err != nil {
		t.Fatal(err)
	}
	if s.Requests != 1000 { // a request that begins late is still made
		t.Errorf("%d requests in half a second of 2000/s", s.Requests)
	}
}

// Every request has a lateness. It is part of its latency where a stall, and not
// a timer, was the cause.
func TestOpenLateness(t *testing.T) {
	var stall sync.Once
	s, err := Open(t.Context(), Load{Workers: 1, Duration: time.Second, Do: func(context.Context, int) error {
		stall.Do(func() { time.Sleep(300 * time.Millisecond) })
		return nil
	}}, 1000)
	if err != nil {
		t.Fatal(err)
	}
	if s.Late.TotalCount() != s.Requests {
		t.Errorf("%d of %d requests have a lateness", s.Late.TotalCount(), s.Requests)
	}
	// A fifth of the requests at least were due while the only worker slept.
	late, all := float64(s.Late.ValueAtPercentile(90))/1e6, s.Milliseconds(90)
	if late < 50 || all < late {
		t.Errorf("a tenth began %.1f ms late or more, and took %.1f ms", late, all)
	}
}

func TestOpenRefusesAnEmptyRun(t *testing.T) {
	if _, err := Open(t.Context(), Load{Workers: 1, Duration: time.Millisecond}, 1); err == nil {
		t.Error("accepted")
	}
}

func TestOpenUntilEndsInOrder(t *testing.T) {
	enough := errors.New("enough")
	var made atomic.Int64
	s, err := OpenUntil(t.Context(), Load{Workers: 2, Duration: time.Minute, Do: func(context.Context, int) error {
		if made.Add(1) > 50 {
			return enough
		}
		return nil
	}}, 1000, enough)
	if err != nil {
		t.Fatal(err)
	}
	if s.Requests < 45 || s.Requests > 50 {
		t.Errorf("%d requests were measured, 50 were answered", s.Requests)
	}
}
