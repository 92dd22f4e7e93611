package pgwire

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// A flight that is under way has patience when the deadline of its caller passes,
// and none when the caller cancels.
func TestPatienceOfABound(t *testing.T) {
	t.Parallel()
	const limit, timeout, patience = time.Second, time.Minute, 40 * time.Millisecond
	for name, test := range map[string]struct {
		watched  bool
		cancel   bool
		patience time.Duration
		want     time.Duration
	}{
		"waits for a connection": {false, false, patience, limit},
		"under way":              {true, false, patience, limit + patience},
		"cancelled":              {true, true, patience, limit},
		"reads":                  {true, false, 0, limit},
		"no time left":           {true, false, timeout, timeout},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				if test.cancel {
					ctx, cancel = context.WithCancel(t.Context())
					time.AfterFunc(limit, cancel)
				}
				defer cancel()
				d := Deadlines{Timeout: timeout}
				b := d.Begin(ctx)
				conn, other := net.Pipe()
				defer conn.Close()
				defer other.Close()
				if test.watched {
					if err := b.Watch(conn, test.patience); err != nil {
						t.Fatal(err)
					}
					if _, err := conn.Read(make([]byte, 1)); err == nil {
						t.Error("the read did not end")
					}
				}
				<-b.Done()
				if got := time.Since(begin); got != test.want {
					t.Errorf("ended after %v", got)
				}
				b.End()
			})
		})
	}
}

// A deadline that passes when the flight has ended changes nothing.
func TestEndedBoundIsNotHastened(t *testing.T) {
	t.Parallel()
	d := Deadlines{Timeout: time.Minute}
	b := d.Begin(t.Context())
	b.End()
	b.hasten(time.Now())
	if d.head != nil || d.tail != nil {
		t.Error("the bound is there again")
	}
}
