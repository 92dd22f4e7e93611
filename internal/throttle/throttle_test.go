package throttle

import (
	"testing"
	"time"
)

func TestFailures(t *testing.T) {
	t.Parallel()
	f := Failures{Pace: 100 * time.Millisecond, Burst: 10, Most: 2 * time.Second}
	now := time.Date(2027, 1, 31, 12, 0, 0, 0, time.UTC)
	for i := range f.Burst {
		if d := f.Delay(now); d != 0 {
			t.Fatalf("failure %d of the burst waits %v", i+1, d)
		}
	}
	if d := f.Delay(now); d != f.Pace {
		t.Errorf("the first failure after the burst waits %v", d)
	}
	for range 1000 {
		if d := f.Delay(now); d > f.Most {
			t.Fatalf("a failure waits %v", d)
		}
	}
	if d := f.Delay(now.Add(time.Second)); d < time.Second {
		t.Errorf("a second after a thousand failures one waits %v", d)
	}
	if d := f.Delay(now.Add(time.Hour)); d != 0 {
		t.Errorf("an hour later a failure waits %v", d)
	}
}
